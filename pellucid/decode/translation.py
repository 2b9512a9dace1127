"""What became of a text: its sentences in their places, joined as they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pellucid.decode.documents import Document
from pellucid.decode.ways import Way


@dataclass(frozen=True)
class Translation:
    """What became of a text."""

    text: str
    score: float  # mean of its sentences' scores: log-probability / length ** length_penalty; nan: nobody asked for it
    tokens: tuple[str, ...]  # of the target, readable
    alternatives: tuple[Translation, ...] = ()  # the next best, where n_best asks for them
    source: str | None = None  # the language it was taken for
    target: str | None = None
    notes: tuple[str, ...] = ()  # what a reader should know: a sentence that had to be cut


class Said(NamedTuple):
    """What became of a sentence."""

    text: str
    score: float
    tokens: tuple[str, ...]


def written(document: Document, said: Sequence[Sequence[Said]]) -> Translation:
    """Every sentence in its place, the best of each together, then the next best."""
    ranks = max(map(len, said), default=1)
    best, *others = [[each[min(rank, len(each) - 1)] for each in said] for rank in range(ranks)]
    alternatives = tuple([joined(_filled(document, other), other, document.way) for other in others])
    return joined(_filled(document, best), best, document.way, alternatives, document.notes)


def _filled(document: Document, sentences: Sequence[Said]) -> str:
    texts = iter(sentences)
    return "".join([next(texts).text if part.source else part.text for part in document.parts])


def joined(
    text: str,
    parts: Sequence[Said | Translation],
    way: Way,
    alternatives: tuple[Translation, ...] = (),
    notes: tuple[str, ...] = (),
) -> Translation:
    """The translation of a text, from those of its parts."""
    score = sum([part.score for part in parts]) / max(1, len(parts))
    tokens = tuple([token for part in parts for token in part.tokens])
    return Translation(text, score, tokens, alternatives, *way, notes)
