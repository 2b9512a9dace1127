"""The test split of a generated corpus, as `evaluate --corpus` takes it."""

from __future__ import annotations

import pytest

from pellucid.cli.pairs import generated_test_pairs
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
