"""The pairs that `score` and `evaluate` read. No filter leaves out any of them."""

from __future__ import annotations

from pathlib import Path

from pellucid.config import KEEP_ALL
from pellucid.errors import UserError, nearest
from pellucid.text.pair import Pair
from pellucid.text.readers import Aligned, Pairs

TEST_PAIRS = 1000  # of a generated corpus

Languages = tuple[str | None, str | None]


def read_pairs(
    source: Path | None, target: Path | None, pairs: Path | None, corpus: str | None, languages: Languages
) -> list[Pair]:
    """The pairs of two aligned files, of a file of pairs, or of the test split of a generated corpus."""
    given = [source or target, pairs, corpus]
    if sum(each is not None for each in given) != 1:
        what = "several sets of pairs are given" if any(given) else "no pairs given"
        raise UserError(what, "", "give --source and --target, --pairs, or --corpus")
    if corpus is not None:
        return generated_test_pairs(corpus, languages)
    if pairs is None and (source is None or target is None):
        raise UserError("missing", "--target" if source else "--source", "give --source and --target together")
    inputs = [Aligned(source, target)] if source and target else [pairs] if pairs else []
    both = (languages[0], languages[1]) if languages[0] and languages[1] else None
    return list(Pairs(inputs, both, KEEP_ALL))


def generated_test_pairs(corpus: str, languages: Languages) -> list[Pair]:
    """The test split of a generated corpus in one direction. It shares no pair with the training split."""
    from pellucid.text.generated import CORPORA

    if corpus not in CORPORA:
        raise UserError(f"unknown corpus {corpus!r}", "--corpus", nearest(corpus, CORPORA))
    pairs = CORPORA[corpus](TEST_PAIRS, 1, "test")
    source, target = languages
    chosen = [p for p in pairs if source in (None, p.source_language) and target in (None, p.target_language)]
    if len({(pair.source_language, pair.target_language) for pair in chosen}) != 1:
        known = sorted({str(pair.target_language) for pair in pairs})
        raise UserError(f"{corpus} has several directions", "--to", f"give one of {', '.join(known)}")
    return chosen
