"""The translation of a text: the translations of its sentences in their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isnan
from typing import NamedTuple

from pellucid.decode.markup.tags import Tag, put_back
from pellucid.decode.sentences import Document
from pellucid.notebook import page, quiet, table, text
from pellucid.text.languages import Languages

SHOWN = 10  # alternatives and notes that a notebook shows


@dataclass(frozen=True)
class Translation:
    """The translation of a text."""

    text: str
    score: float  # mean of its sentences' scores: log-probability / length ** length_penalty; nan: not computed
    tokens: tuple[str, ...]  # of the target, readable
    alternatives: tuple[Translation, ...] = ()  # the next best, where n_best asks for them
    source: str | None = None  # language code, as requested or detected
    target: str | None = None
    notes: tuple[str, ...] = ()  # what a reader should know: a sentence that had to be cut
    tags: tuple[Tag, ...] = ()  # where the tags of the source belong in it

    def with_tags(self) -> Translation:
        """The translation, and each alternative, with its tags in its text."""
        others = tuple([each.with_tags() for each in self.alternatives])
        return replace(self, text=put_back(self.text, self.tags), tags=(), alternatives=others) if self.tags else self

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        best = (self, *self.alternatives[:SHOWN])
        rows = [(text(each.text), "" if isnan(each.score) else f"{each.score:.3f}") for each in best]
        direction = f"{self.source} → {self.target}" if self.source else ""
        return page(table(("translation", "score"), rows), quiet(direction), *map(quiet, self.notes[:SHOWN]))


class SentenceTranslation(NamedTuple):
    """One hypothesis of a sentence as text."""

    text: str
    score: float
    tokens: tuple[str, ...]


def assemble(documents: Sequence[Document], sentences: Iterator[list[SentenceTranslation]]) -> list[Translation]:
    """Put the translated sentences, which come in order, into their documents."""
    return [_fill(document, list(islice(sentences, len(document.sentences)))) for document in documents]


def _fill(document: Document, sentences: Sequence[Sequence[SentenceTranslation]]) -> Translation:
    """The best translation of every sentence together, then the second best as an alternative, and so on."""
    ranks = max(map(len, sentences), default=1)
    best, *others = [[each[min(rank, len(each) - 1)] for each in sentences] for rank in range(ranks)]
    alternatives = tuple([join(_text(document, other), other, document.direction) for other in others])
    return join(_text(document, best), best, document.direction, alternatives, document.notes)


def _text(document: Document, sentences: Sequence[SentenceTranslation]) -> str:
    following = iter(sentences)
    return "".join([span.text if span.sentence is None else next(following).text for span in document.spans])


def join(
    text: str,
    parts: Sequence[SentenceTranslation | Translation],
    direction: Languages,
    alternatives: tuple[Translation, ...] = (),
    notes: tuple[str, ...] = (),
) -> Translation:
    """The translation of a text from the translations of its parts."""
    score = sum([part.score for part in parts]) / max(1, len(parts))
    tokens = tuple([token for part in parts for token in part.tokens])
    return Translation(text, score, tokens, alternatives, *direction, notes)
