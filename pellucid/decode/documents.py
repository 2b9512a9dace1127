"""A text as the model takes it: sentences, and what stands between them, which is kept character by character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pellucid.decode.search import Sentence
from pellucid.decode.ways import Way
from pellucid.text.tokenizer import END, Tokenizers, well_formed

LINE_END = re.compile(r"([\r\n]+)")
# Where a sentence that is too long may be cut, best first; a cut comes after the match.
CUTS = [
    re.compile(pattern)
    for pattern in (r"[.!?…]+[\"'”’»)\]]*\s+|[。！？]+", r"[;:]\s+|[；：]", r"[,)–—]\s+|[，、]", r"\s+", r"(?<=[-/_])")
]
CHARACTERS_A_TOKEN = 64  # more than any token has: a text that is longer by this much need not be encoded to be cut


@dataclass(frozen=True)
class Part:
    """A stretch of a document: a sentence with its source ids, or (without ids) what is kept as it is."""

    text: str
    source: tuple[int, ...] = ()


@dataclass(frozen=True)
class Document:
    parts: tuple[Part, ...]
    way: Way
    notes: tuple[str, ...] = ()

    def sentences(self, prefix: Sequence[int]) -> list[Sentence]:
        """What is to be searched for; a prefix begins the first sentence."""
        sources = [part.source for part in self.parts if part.source]
        return [Sentence(source, () if place else tuple(prefix)) for place, source in enumerate(sources)]


def read(text: str, way: Way, tokenizers: Tokenizers, longest: int, by_sentence: bool) -> Document:
    """Text -> sentences -> source ids, none of more than `longest` tokens."""
    head = tokenizers.head(way[1])
    room = longest - len(head) - 1  # the end takes a place too

    def ids_of(piece: str) -> list[int] | None:
        """The ids of a text, or None if they are too many; one that is far too long is not even encoded."""
        if len(piece) > room * CHARACTERS_A_TOKEN:
            return None
        ids = tokenizers.source.encode(piece)
        return ids if len(ids) <= room else None

    parts: list[Part] = []
    notes: list[str] = []
    for piece, wanted in split_document(well_formed(text), way[0], by_sentence):
        # A rule of dashes is no sentence of any language, and a model asked to translate it would make one up.
        if not wanted or (way[0] and not any(map(str.isalnum, piece))):
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
            yield from _with_borders(sentence)


def _sentences(line: str, language: str | None) -> list[str]:
    if not line or line.isspace():
        return [line]
    from sentencex import segment

    sentences = list(segment(language or "en", line))
    return sentences if "".join(sentences) == line else [line]


def _with_borders(text: str) -> Iterator[tuple[str, bool]]:
    """White space around a text is no part of it."""
    core = text.strip()
    start = text.find(core) if core else len(text)
    for piece, wanted in ((text[:start], False), (core, True), (text[start + len(core) :], False)):
        if piece:
            yield piece, wanted


def cut(text: str, ids_of: Callable[[str], list[int] | None]) -> list[tuple[str, list[int]]]:
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
