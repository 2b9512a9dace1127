"""The pairs that `score` and `evaluate` read. No filter leaves out any of them."""

from __future__ import annotations

from pathlib import Path

from pellucid.config import KEEP_ALL
from pellucid.errors import UserError, nearest
from pellucid.text.pair import Pair
from pellucid.text.readers import Aligned, Pairs

TEST_PAIRS = 1000  # of a generated corpus


def read_pairs(
    source: Path | None, target: Path | None, pairs: Path | None, languages: tuple[str | None, str | None]
) -> list[Pair]:
    """The pairs of two aligned files, or of one file of pairs."""
    if (source is None) != (target is None):
        missing = "--source" if source is None else "--target"
        raise UserError("missing", missing, "give --source and --target together")
    if (source is None) == (pairs is None):
        what = "no pairs given" if pairs is None else "two sets of pairs are given"
        raise UserError(what, "", "give --source and --target, or --pairs")
    inputs = [Aligned(source, target)] if source and target else [pairs] if pairs else []
    both = (languages[0], languages[1]) if languages[0] and languages[1] else None
    return list(Pairs(inputs, both, KEEP_ALL))


def generated_test_pairs(corpus: str, languages: tuple[str | None, str | None]) -> list[Pair]:
    """The test split of a generated corpus in one direction. It shares no pair with the training split."""
    from pellucid.text.generated import CORPORA

    if corpus not in CORPORA:
        raise UserError(f"unknown corpus {corpus!r}", "--corpus", nearest(corpus, CORPORA))
    source, target = languages
    pairs = CORPORA[corpus](TEST_PAIRS, 1, "test")
    chosen = [p for p in pairs if source in (None, p.source_language) and target in (None, p.target_language)]
    directions = {(pair.source_language, pair.target_language) for pair in chosen}
    if len(directions) != 1:
        known = sorted({str(pair.target_language) for pair in pairs})
        raise UserError(f"{corpus} has several directions", "--to", f"give one of {', '.join(known)}")
    return chosen
