"""A text as the model takes it: sentences, and what stands between them, which is kept character by character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pellucid.decode.search import Sentence
from pellucid.decode.ways import Way
from pellucid.text.pair import is_language
from pellucid.text.tokenizer import END, Tokenizer, Tokenizers, well_formed

LINE_END = re.compile(r"([\r\n]+)")
EMOJI = re.compile("[\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
JOINING = "\ufe0f\u200d"  # what stands inside or after an emoji
# Where a sentence that is too long may be cut, best first; a cut comes after the match. A row of dots is tried once,
# from its first: anew from each of them would take the square of their number.
CUTS = [
    re.compile(pattern)
    for pattern in (
        r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+\s+|[。！？]+",
        r"[;:]\s+|[；：]",
        r"[,)–—]\s+|[，、]",
        r"\s+",
        r"(?<=[-/_])",
    )
]
IdsOf = Callable[[str], list[int] | None]
"""The ids of a text, or None if they are too many; one that is far too long is not even encoded."""
CHARACTERS_A_TOKEN = 64  # more than any token has: a text that is longer by this much need not be encoded to be cut


class Part(NamedTuple):
    """A stretch of a document: a sentence with its source ids, or (without ids) what is kept as it is."""

    text: str
    source: tuple[int, ...] = ()


class Document(NamedTuple):
    parts: tuple[Part, ...]
    way: Way
    notes: tuple[str, ...] = ()

    def sentences(self, prefix: Sequence[int]) -> list[Sentence]:
        """What is to be searched for; a prefix begins the first sentence."""
        sources = [part.source for part in self.parts if part.source]
        return [Sentence(source, () if place else tuple(prefix)) for place, source in enumerate(sources)]


def read(
    texts: Sequence[str], ways: Sequence[Way], tokenizers: Tokenizers, longest: int, split: bool | None = None
) -> list[Document]:
    """Texts -> sentences -> source ids, none of more than `longest` tokens. Texts in a language are split into
    sentences, unless `split` says otherwise."""
    heads = [tokenizers.head(target) for _, target in ways]
    room = longest - max(map(len, heads), default=0) - 1  # the end takes a place too
    pieces = [
        _pieces(text, language, is_language(language or "") if split is None else split)
        for text, (language, _) in zip(texts, ways, strict=True)
    ]
    ids_of = _encoder(tokenizers.source, [piece for each in pieces for piece, wanted in each if wanted], room)
    return [_document(each, way, head, ids_of, longest) for each, way, head in zip(pieces, ways, heads, strict=True)]


def _pieces(text: str, language: str | None, by_sentence: bool) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it says something: a rule of dashes is no sentence of any language, and a
    model asked to translate it would make one up."""
    return [
        (piece, wanted and (not language or any(map(str.isalnum, piece))))
        for piece, wanted in split_document(well_formed(text), language, by_sentence)
    ]


def _encoder(tokenizer: Tokenizer, sentences: Sequence[str], room: int) -> IdsOf:
    """Knows the ids of the sentences, which are found at once: on two cores 11 ms for 1,000, one by one 19."""
    most = room * CHARACTERS_A_TOKEN
    short = [sentence for sentence in sentences if len(sentence) <= most]
    known = dict(zip(short, tokenizer.encode_batch(short), strict=True))

    def ids_of(text: str) -> list[int] | None:
        if len(text) > most:
            return None
        ids = known[text] if text in known else tokenizer.encode(text)
        return ids if len(ids) <= room else None

    return ids_of


def _document(pieces: list[tuple[str, bool]], way: Way, head: list[int], ids_of: IdsOf, longest: int) -> Document:
    parts: list[Part] = []
    notes: list[str] = []
    for piece, wanted in pieces:
        if not wanted:
            parts.append(Part(piece))
            continue
        cuts = cut(piece, ids_of)
        parts += [Part(part, (*head, *ids, END) if ids else ()) for part, ids in cuts]
        if len(cuts) > 1:
            count = sum(bool(ids) for _, ids in cuts)
            notes.append(f"a sentence of more than {longest} tokens was translated in {count} parts")
    return Document(tuple(parts), way, tuple(notes))


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
    """White space around a text is no part of it. Nor are `emoji`, which mean the same in every language."""

    def outside(char: str) -> bool:
        return char.isspace() or (emoji and (char in JOINING or EMOJI.match(char) is not None))

    start, end = 0, len(text)
    while start < end and outside(text[start]):
        start += 1
    while end > start and outside(text[end - 1]):
        end -= 1
    for piece, wanted in ((text[:start], False), (text[start:end], True), (text[end:], False)):
        if piece:
            yield piece, wanted


def cut(text: str, ids_of: IdsOf) -> list[tuple[str, list[int]]]:
    """A sentence in parts that fit (`ids_of` gives their ids) and the white space between them, without ids. It is cut
    near the middle, at the end of a sentence or clause or word if there is one."""
    ids = ids_of(text)
    if ids is not None:
        return [(text, ids)]
    if len(text) < 2:  # not even one character fits
        return [(text, [])]
    place = _place(text)
    return [
        part
        for half in (text[:place], text[place:])
        for piece, wanted in _with_borders(half)
        for part in (cut(piece, ids_of) if wanted else [(piece, [])])
    ]


def _place(text: str) -> int:
    middle, first, last = len(text) // 2, len(text) // 4, max(2, len(text) * 3 // 4)
    for pattern in CUTS:
        places = [match.end() for match in pattern.finditer(text, first, last) if 0 < match.end() < len(text)]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    while middle > 1 and unicodedata.combining(text[middle]):  # a letter keeps its accents
        middle -= 1
    return middle
