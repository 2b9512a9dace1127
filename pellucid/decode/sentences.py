"""A text as sentences that fit the model, and the text between them, which is kept character by character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pellucid.decode.hypotheses import Sentence
from pellucid.decode.markup.tags import Tag, tag_pieces, take_out
from pellucid.text.languages import Languages, is_code
from pellucid.text.tokenizer import END, Tokenizer, Tokenizers
from pellucid.text.unicode import well_formed

LINE_END = re.compile(r"([\r\n]+)")
EMOJI = re.compile("[\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
JOINING = "\ufe0f\u200d"  # inside or after an emoji
# Where a sentence that is too long may be cut, best first; a cut comes after the match. A row of dots is tried once,
# from its first: anew from each of them would take the square of their number.
CUTS = (
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+\s+|[。！？]+",
    r"[;:]\s+|[；：]",
    r"[,)–—]\s+|[，、]",
    r"\s+",
    r"(?<=[-/_])",
)
Encode = Callable[[str], list[int] | None]
"""The ids of a text, or None if they are too many; one that is far too long is not even encoded."""
MAX_ACCENTS = 32  # combining characters after a letter
CHARACTERS_PER_TOKEN = 64  # more than any token has: a text longer than this times the limit need not be encoded


class SourceText(NamedTuple):
    """A text to translate: its direction, what its translation must begin with, and tags that were taken out of it."""

    text: str
    direction: Languages
    prefix: str = ""
    tags: tuple[Tag, ...] = ()


def take_tags_out(source: SourceText) -> SourceText:
    """The text without its tags, which are remembered."""
    text, tags = take_out(tag_pieces(well_formed(source.text)))
    return source._replace(text=text, tags=tags)


class Span(NamedTuple):
    """A stretch of a document: a sentence, or (without one) text that is kept as it is."""

    text: str
    sentence: Sentence | None = None


class Document(NamedTuple):
    """A text as spans: joined, their texts are the text."""

    spans: tuple[Span, ...]
    direction: Languages
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[Sentence]:
        return [span.sentence for span in self.spans if span.sentence is not None]


def read_documents(
    sources: Sequence[SourceText], tokenizers: Tokenizers, longest: int, split: bool | None = None
) -> list[Document]:
    """Texts -> sentences of at most `longest` tokens. By default texts in a language are split into sentences."""
    room = longest - bool(tokenizers.source.languages) - 1  # beside the language tag and the end
    pieces = [
        _pieces(text, language, is_code(language) if split is None else split) for text, (language, _), *_ in sources
    ]
    encode = _encoder(tokenizers.source, [piece for each in pieces for piece, translate in each if translate], room)
    both = zip(pieces, sources, strict=True)
    return [_document(each, source, tokenizers, encode, longest) for each, source in both]


def _pieces(text: str, language: str | None, by_sentence: bool) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether to translate it. In a language, a piece without letters and digits (a rule
    of dashes) is not: a model would make a sentence up for it."""
    return [
        (piece, translate and (not language or any(map(str.isalnum, piece))))
        for piece, translate in split_document(well_formed(text), language, by_sentence)
    ]


def _encoder(tokenizer: Tokenizer, sentences: Sequence[str], room: int) -> Encode:
    """Encodes the sentences at once, which takes 11 ms for 1,000 on two cores instead of 19 one by one."""
    most = room * CHARACTERS_PER_TOKEN
    short = [sentence for sentence in sentences if len(sentence) <= most]
    known = dict(zip(short, tokenizer.encode_batch(short), strict=True))

    def encode(text: str) -> list[int] | None:
        if len(text) > most:
            return None
        ids = known[text] if text in known else tokenizer.encode(text)
        return ids if len(ids) <= room else None

    return encode


def _document(
    pieces: list[tuple[str, bool]], source: SourceText, tokenizers: Tokenizers, encode: Encode, longest: int
) -> Document:
    spans: list[Span] = []
    notes: list[str] = []
    tag = tokenizers.language_tag(source.direction[1])
    prefix = tuple(tokenizers.target.encode(source.prefix)) if source.prefix else ()
    for piece, translate in pieces:
        parts = cut(piece, encode) if translate else [(piece, [])]
        for text, ids in parts:
            sentence = Sentence((*tag, *ids, END), prefix, source.direction[1]) if ids else None
            spans.append(Span(text, sentence))
            prefix = () if ids else prefix  # it begins the first sentence
        if len(parts) > 1:
            count = sum(bool(ids) for _, ids in parts)
            notes.append(f"a sentence of more than {longest} tokens was translated in {count} parts")
    return Document(tuple(spans), source.direction, tuple(notes))


def split_document(text: str, language: str | None, by_sentence: bool) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is to be translated. The pieces joined are the text."""
    for line in LINE_END.split(text):
        for sentence in _sentences(line, language) if by_sentence else [line]:
            yield from _with_borders(sentence, language is not None)


def _sentences(line: str, language: str | None) -> list[str]:
    if not line or line.isspace():
        return [line]
    import sentencex

    sentences = list(sentencex.segment(language or "en", line))
    return sentences if "".join(sentences) == line else [line]


def _with_borders(text: str, emoji: bool = False) -> Iterator[tuple[str, bool]]:
    """A text without the white space around it, nor `emoji`, which are the same in every language."""

    def outside(char: str) -> bool:
        return char.isspace() or (emoji and (char in JOINING or EMOJI.match(char) is not None))

    start, end = 0, len(text)
    while start < end and outside(text[start]):
        start += 1
    while end > start and outside(text[end - 1]):
        end -= 1
    for piece, translate in ((text[:start], False), (text[start:end], True), (text[end:], False)):
        if piece:
            yield piece, translate


def cut(text: str, encode: Encode) -> list[tuple[str, list[int]]]:
    """A sentence in parts that fit (`encode` gives their ids) and the white space between them, without ids. It is cut
    near the middle, at the end of a sentence or clause or word if there is one."""
    ids = encode(text)
    if ids is not None:
        return [(text, ids)]
    if len(text) < 2:  # not even one character fits
        return [(text, [])]
    place = _place(text)
    return [
        part
        for half in (text[:place], text[place:])
        for piece, translate in _with_borders(half)
        for part in (cut(piece, encode) if translate else [(piece, [])])
    ]


def _place(text: str) -> int:
    middle, first, last = len(text) // 2, len(text) // 4, max(2, len(text) * 3 // 4)
    for pattern in CUTS:
        ends = [match.end() for match in re.compile(pattern).finditer(text, first, last)]
        places = [end for end in ends if 0 < end < len(text)]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    # A letter keeps its accents, unless it has dozens: the text would then be cut one character at a time.
    nearby = range(middle, max(0, middle - MAX_ACCENTS), -1)
    return next((place for place in nearby if not unicodedata.combining(text[place])), middle)
