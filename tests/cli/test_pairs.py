"""The pairs that `score` and `evaluate` read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pellucid.cli.pairs import generated_test_pairs, read_pairs
from pellucid.errors import UserError
from pellucid.text.generated import CORPORA


def test_no_date_that_is_trained_on_is_evaluated_on() -> None:
    unseen = generated_test_pairs("dates", (None, None))
    assert len(unseen) == 1000
    assert not {pair.target for pair in unseen} & {pair.target for pair in CORPORA["dates"](20_000, 1, "train")}


def test_a_corpus_of_several_directions_asks_for_one() -> None:
    with pytest.raises(UserError, match="several directions"):
        generated_test_pairs("reports", (None, None))
    assert {pair.target_language for pair in generated_test_pairs("reports", (None, "summary"))} == {"summary"}


def test_an_unknown_corpus_is_reported_with_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'dates'"):
        generated_test_pairs("date", (None, None))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((None, None, None, None), "no pairs given"),
        ((Path("a.en"), None, Path("a.tsv"), None), "several sets of pairs are given"),
        ((None, None, Path("a.tsv"), "dates"), "several sets of pairs are given"),
        ((Path("a.en"), None, None, None), "--target: missing"),
        ((None, Path("a.de"), None, None), "--source: missing"),
    ],
)
def test_one_set_of_pairs_is_given(
    given: tuple[Path | None, Path | None, Path | None, str | None], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read_pairs(*given, (None, None))


def test_a_generated_corpus_is_read_like_files() -> None:
    assert read_pairs(None, None, None, "dates", (None, None)) == generated_test_pairs("dates", (None, None))
