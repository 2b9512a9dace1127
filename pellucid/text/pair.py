"""A pair of texts."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """A source text, its target text, their languages where known, and where they were read (`train.tsv:12`)."""

    source: str
    target: str
    source_language: str | None = None
    target_language: str | None = None
    place: str = ""

    def reversed(self) -> Pair:
        """The same pair in the other direction."""
        return Pair(self.target, self.source, self.target_language, self.source_language, self.place)
