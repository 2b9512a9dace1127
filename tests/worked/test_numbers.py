"""Numbers as written: their units, and how computed ones are shown beside them."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from pellucid.worked.numbers import Stated, as_written, read_stated, shown, stated_decimals

pytestmark = pytest.mark.filterwarnings("error")


def stated(text: str) -> Stated:
    return read_stated(tomllib.loads(f"x = {text}", parse_float=Decimal)["x"])


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("0.5", 0.1),
        ("0.500", 0.001),
        ("64", 1),
        ("1_000", 1),
        ("1_000.50", 0.01),
        ("-2.0", 0.1),
        ("1e-3", 0.001),
        ("1.50e3", 10),
        ("1e3", 1000),
        ("1e-999999999", 0),
    ],
)
def test_the_unit_is_that_of_the_last_digit_written(text: str, unit: float) -> None:
    assert stated(text).unit == pytest.approx(unit)


@pytest.mark.parametrize(
    ("values", "beside", "text"),
    [
        ([0.5, 0.25], "0.5", ["0.50", "0.25"]),
        ([0.5, 0.7], "0.5", ["0.5", "0.7"]),
        ([0.33333, 0.5], "0.333", ["0.3333", "0.5000"]),
        ([0.333333333], "0.33333", ["0.33333"]),  # four digits are enough, unless more are written
        ([1.44], "2", ["1.4"]),
        ([3535.0, 5064.5], '"?"', ["3535.0", "5064.5"]),
        ([68.0, 53.0], '"?"', ["68", "53"]),
        ([-0.00001], "0.1", ["0.0"]),
        ([-1.5, np.inf, -np.inf, np.nan], "0.1", ["−1.5", "∞", "−∞", "no number"]),
        ([1e300], "0.1", ["1e+300"]),
        ([0.0], "1e-999999999", ["0.00000000000000000000"]),
    ],
)
def test_computed_numbers_are_shown_with_fitting_digits(values: list[float], beside: str, text: list[str]) -> None:
    digits = None if "?" in beside else stated_decimals(stated(beside))
    assert shown(np.array(values), digits) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0.090", "0.090"), ("-1.5", "−1.5"), ("nan", "no number"), ("-inf", "−∞"), ("12", "12"), ('"cat"', "cat")],
)
def test_stated_numbers_are_shown_as_written(text: str, expected: str) -> None:
    assert as_written(stated(text).written) == expected


@pytest.mark.parametrize("text", ["true", "[1, true]", "[]", "[[]]", '[1, "a"]', "1979-05-27", "[[[[[1]]]]]", "1e999"])
def test_what_is_neither_numbers_nor_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        stated(text)


def test_rows_of_different_lengths_have_no_values() -> None:
    ragged: Any = stated("[[1], [2, 3]]")
    assert ragged.values is None
    assert not ragged.within_one(np.ones((2, 2))).any()
