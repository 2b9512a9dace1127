"""Pairs of text for commands that measure: nothing is left out of them."""

from __future__ import annotations

from pathlib import Path

from pellucid.errors import UserError
from pellucid.text.pair import Pair
from pellucid.text.readers import Aligned, Pairs, Rules

EVERYTHING = Rules(drop_empty=False, max_characters=0, max_ratio=0, identical_words=0, drop_duplicates=False)


def read_pairs(
    source: Path | None, target: Path | None, pairs: Path | None, languages: tuple[str | None, str | None]
) -> list[Pair]:
    """The pairs of two aligned files, or of one file of pairs."""
    if (source is None) != (target is None) or (source is None) == (pairs is None):
        raise UserError("no pairs, or two kinds of them", "", "give --source and --target, or --pairs")
    inputs = [Aligned(source, target)] if source and target else [pairs] if pairs else []
    both = (languages[0], languages[1]) if languages[0] and languages[1] else None
    return list(Pairs(inputs, both, EVERYTHING))
