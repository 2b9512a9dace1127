"""Numbers as somebody wrote them: how many digits they claim decides how near the truth they must lie."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.worked.functions import MOST_ELEMENTS, Value
from pellucid.worked.intervals.arithmetic import ANY_WORD, Interval
from pellucid.worked.written import WrittenNumber, read_number

UNSTATED = "?"  # stands for a number the source leaves out
MOST_DIMENSIONS = 4
MOST_DECIMALS = 20  # shown; float64 has no more
# float64 is not exact: a number a hair beyond a bound lies on it, and 0.79 is one whole unit from 0.78.
HAIR = 1e-6  # of a unit
NOISE = 1e-12  # of the value
LAST_BITS = 1e-14  # of the value


@dataclass(frozen=True)
class Stated:
    """What the source states at one step, exactly as written (decimals keep their trailing zeros)."""

    written: Any  # Decimal, int, WrittenNumber or str, or lists of them
    values: Value | None  # None when the rows differ in length; nan where nothing is stated
    unit: NDArray[np.float64]  # of the last digit written, in the shape of `values`
    known: NDArray[np.bool_]  # False where nothing is stated

    def as_words(self) -> Stated:
        """The same where words are due: a word may look like a number."""
        leaves = [leaf.text if isinstance(leaf, WrittenNumber) else leaf for leaf in items(self.written)]
        return _stated(like(self.written, iter(leaves)))

    def within_half(self, value: Value | None) -> NDArray[np.bool_]:
        """Where the number stated is the value, rounded."""
        distance, noise = self._distance(value)
        return distance <= self.unit * (0.5 + HAIR) + noise

    def within_one(self, value: Value | None) -> NDArray[np.bool_]:
        """Where the number stated is the value, rounded up or down: less than one unit of its last digit away."""
        distance, noise = self._distance(value)
        near = (distance < self.unit * (1 - HAIR)) | (distance <= noise)
        if value is None or self.values is None or not fits(self.values, value) or value.dtype.kind == "U":
            return near
        # 1e-20, rounded up to 0.01, is a whole unit away in float64; but 0.78 is never rounded up to 0.79.
        with np.errstate(all="ignore"):
            off_grid = np.abs(value - np.round(value / self.unit) * self.unit) > LAST_BITS * np.abs(value)
        return np.asarray(near | (off_grid & (distance <= self.unit * (1 + HAIR))))

    def follows(self, interval: Interval | None) -> NDArray[np.bool_]:
        """Where the number stated is one of those between the bounds, rounded up or down."""
        if interval is None or self.values is None or not fits(self.values, interval.value):
            return np.zeros(self.known.shape, np.bool_)
        near = self.within_one(interval.value)
        if self.values.dtype.kind == "U":
            return np.asarray(near | (interval.low == ANY_WORD))
        inside = self.within_one(np.clip(self.values, interval.low, interval.high))
        return np.asarray(near | np.where(np.isnan(self.values), interval.lost, inside))

    def stands_for(self, followed: Interval | None, exact: bool) -> Interval | None:
        """All that the numbers stated may be short for: to go on working with, beside them, what follows if nothing is.

        A number is rounded by less than one unit of its last digit, one way or the other; unless what is due has no
        more digits than are written, or they are all `exact`.
        """
        if self.values is None:
            return None
        due = followed if followed is not None and fits(self.values, followed.value) else None
        if due is None and not self.known.all():
            return None
        if self.values.dtype.kind == "U":
            stated = Interval.exactly(self.values)
        else:
            slack = np.zeros(self.known.shape) if exact else self._slack(due)
            stated = Interval(self.values, self.values - slack, self.values + slack)
        if due is None:
            return stated
        pairs = ((stated.value, due.value), (stated.low, due.low), (stated.high, due.high))
        return Interval(*(np.where(self.known, mine, theirs) for mine, theirs in pairs))

    def _slack(self, due: Interval | None) -> NDArray[np.float64]:
        """How much each number may have been rounded by."""
        assert self.values is not None
        finite = np.isfinite(self.values)
        slack = np.where(finite, self.unit, 0.0)
        if due is None:
            return slack
        values = np.where(finite, self.values, 0.0)
        distance = np.abs(values - np.where(np.isfinite(due.value), due.value, np.inf))
        not_rounded = (due.low == due.high) & (distance <= self.unit * HAIR + NOISE * np.abs(values))
        # Beside numbers that are rounded or mistaken, such a number may be a mistaken one that happens to be near.
        least = 0.0 if not_rounded[self.known].all() else self.unit[self.known].min()
        return np.where(not_rounded, np.minimum(slack, least), slack)

    def whole(self, due: Interval | None) -> bool:
        """Whether all numbers are whole, as places and sizes are; a mistaken 1.0 may be short for 1.02."""
        if self.values is None or self.values.dtype.kind != "f":
            return False
        known = self.values[self.known]
        sound = self.follows(due) | (self.unit >= 1)
        return bool(np.isfinite(known).all() and (known % 1 == 0).all() and sound[self.known].all())

    def _distance(self, value: Value | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How far each number lies from `value`, and how far float64 may have led `value` itself astray."""
        if self.values is None or value is None or not fits(self.values, value):
            nowhere = np.full(self.known.shape, np.inf)
            return nowhere, np.zeros_like(nowhere)
        if value.dtype.kind == "U":
            return np.where(self.values == value, 0.0, np.inf), np.zeros(value.shape)
        with np.errstate(invalid="ignore"):
            same = (self.values == value) | (np.isnan(self.values) & np.isnan(value))
            distance = np.where(same, 0.0, np.abs(self.values - value))
            noise = np.where(np.isfinite(value), NOISE * np.abs(value), 0.0)
        return np.where(np.isnan(distance), np.inf, distance), noise


def fits(stated: Value, value: Value) -> bool:
    """Whether two values have one shape and one kind, and so can be compared."""
    return stated.shape == value.shape and stated.dtype.kind == value.dtype.kind


def read_stated(written: Any) -> Stated:
    """What a TOML value states. Raises ValueError, with the reason, for what is neither numbers nor words."""
    return _stated(_with_numbers(written))


def _stated(written: Any) -> Stated:
    leaves = list(items(written))
    values = _array(written, leaves)
    if values is None:
        nothing = np.zeros((0,))
        return Stated(written, None, nothing, nothing > 0)
    known = np.array([leaf != UNSTATED for leaf in leaves]).reshape(values.shape)
    unit = np.array([_unit(leaf) for leaf in leaves]).reshape(values.shape)
    return Stated(written, values, unit, known)


def read_input(written: Any) -> Value:
    """A TOML value as the numbers or words to compute with. Raises ValueError, with the reason."""
    leaves = list(items(written))
    if UNSTATED in leaves:
        raise ValueError(f'"{UNSTATED}" has no value; an input is given in full')
    if any(isinstance(leaf, str) and re.search("[0-9][ ]?[%/,]|[≈⁄]", leaf) for leaf in leaves):  # "1" may be a word
        written = _with_numbers(written)
        leaves = list(items(written))
    values = _array(written, leaves)
    if values is None:
        raise ValueError("the rows differ in length")
    return values


def _with_numbers(written: Any) -> Any:
    """Texts read as numbers, if all that are there can be."""
    leaves = list(items(written))
    read = [read_number(leaf) if isinstance(leaf, str) and leaf != UNSTATED else leaf for leaf in leaves]
    return written if None in read else like(written, iter(read))


def items(written: Any, depth: int = 0) -> Iterator[Any]:
    """The numbers or words of nested lists, in reading order."""
    if not isinstance(written, list):
        yield written
        return
    if depth == MOST_DIMENSIONS:
        raise ValueError(f"more than {MOST_DIMENSIONS} lists inside each other")
    for item in written:
        yield from items(item, depth + 1)


def like(written: Any, fill: Iterator[Any]) -> Any:
    """Nested lists of the same shape, with other items."""
    return [like(item, fill) for item in written] if isinstance(written, list) else next(fill)


def same(first: Value | None, second: Value) -> bool:
    """Whether two values are equal throughout; no number equals no number."""
    if first is None or not fits(first, second):
        return False
    return bool(np.all((first == second) | (first != first) & (second != second)))


def stated_decimals(stated: Stated | None) -> int | None:
    """The most digits written after a point; None when no numbers are stated."""
    leaves = [] if stated is None else [leaf for leaf in items(stated.written) if not isinstance(leaf, str)]
    places = [-int(leaf.as_tuple().exponent) for leaf in leaves if isinstance(leaf, Decimal) and leaf.is_finite()]
    places += [round(-log10(leaf.unit)) if leaf.unit else 4 for leaf in leaves if isinstance(leaf, WrittenNumber)]
    return min(max([0, *places]), MOST_DECIMALS) if leaves else None


def as_written(leaf: Any) -> str:
    """A stated number or word, for people."""
    if isinstance(leaf, str | WrittenNumber):
        return leaf if isinstance(leaf, str) else leaf.text
    text = str(leaf).lower()
    return {"nan": "no number", "infinity": "∞", "-infinity": "−∞"}.get(text, text.replace("-", "−"))


def shown(value: Value, digits: int | None) -> list[str]:
    """Computed numbers beside ones stated with `digits` decimals: one digit more if it differs, up to four."""
    if value.dtype.kind == "U":
        return [str(word) for word in value.ravel()]
    numbers = np.abs(value[np.isfinite(value)])
    least, most = (0, 4) if digits is None else (digits, max(digits, min(digits + 1, 4)))
    with np.errstate(over="ignore"):
        exact = numbers.round(most)
        places = next(p for p in range(least, most + 1) if np.allclose(numbers.round(p), exact, 0, 1e-12))
    return [_shown(float(number), places) for number in value.ravel()]


def _shown(number: float, places: int) -> str:
    if not np.isfinite(number):
        return {"inf": "∞", "-inf": "−∞"}.get(str(number), "no number")
    text = f"{number:.{places}f}" if abs(number) < 1e12 else f"{number:.6g}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")  # no minus before a zero


def _array(written: Any, leaves: list[Any]) -> Value | None:
    """Nested lists as an array; None when they have no common shape."""
    if not leaves:
        raise ValueError("an empty list states nothing")
    if len(leaves) > MOST_ELEMENTS:
        raise ValueError(f"too many numbers ({len(leaves)}, at most {MOST_ELEMENTS})")
    stray = [
        leaf for leaf in leaves if isinstance(leaf, bool) or not isinstance(leaf, Decimal | int | str | WrittenNumber)
    ]
    if stray:
        raise ValueError(f"{stray[0]} is neither a number nor a word")
    are_words = {isinstance(leaf, str) for leaf in leaves if leaf != UNSTATED}
    if len(are_words) > 1:
        raise ValueError("numbers and words are mixed")
    nested = np.array(written, object)
    if any(isinstance(item, list) for item in nested.flat):  # they stay lists where their lengths differ
        return None
    flat = np.array(leaves, np.str_) if True in are_words else np.array([_float(leaf) for leaf in leaves], np.float64)
    return flat.reshape(nested.shape)


def _float(leaf: Any) -> float:
    if leaf == UNSTATED:
        return np.nan
    if isinstance(leaf, WrittenNumber):
        return leaf.value
    try:
        value = float(leaf)
    except OverflowError:
        value = np.inf
    if np.isinf(value) and not (isinstance(leaf, Decimal) and leaf.is_infinite()):
        raise ValueError("a number is too large")
    return value


def _unit(leaf: Any) -> float:
    if isinstance(leaf, WrittenNumber):
        return leaf.unit
    return float(f"1e{leaf.as_tuple().exponent}") if isinstance(leaf, Decimal) and leaf.is_finite() else 1.0
