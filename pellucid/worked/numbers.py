"""Numbers as somebody wrote them: how many digits they claim decides how near the truth they must lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.worked.functions import MOST_ELEMENTS, Value

UNSTATED = "?"  # stands for a number the source leaves out
MOST_DIMENSIONS = 4
MOST_DECIMALS = 20  # shown; float64 has no more
# float64 is not exact: a number a hair beyond a bound lies on it, and 0.79 is one whole unit from 0.78.
HAIR = 1e-6  # of a unit
NOISE = 1e-12  # of the value


@dataclass(frozen=True)
class Stated:
    """What the source states at one step, exactly as written (decimals keep their trailing zeros)."""

    written: Any  # Decimal, int or str, or lists of them
    values: Value | None  # None when the rows differ in length; nan where nothing is stated
    unit: NDArray[np.float64]  # of the last digit written, in the shape of `values`
    known: NDArray[np.bool_]  # False where nothing is stated

    def within_half(self, value: Value | None) -> NDArray[np.bool_]:
        """Where the number stated is the value, rounded."""
        distance, noise = self._distance(value)
        return distance <= self.unit * (0.5 + HAIR) + noise

    def within_one(self, value: Value | None) -> NDArray[np.bool_]:
        """Where the number stated is less than one unit of its last digit away from the value."""
        distance, noise = self._distance(value)
        return (distance < self.unit * (1 - HAIR)) | (distance <= noise)

    def filled(self, computed: Value | None) -> Value | None:
        """The values to go on working with: what is stated, and what was computed where nothing is."""
        if self.values is None or self.known.all():
            return self.values
        if computed is None or not fits(self.values, computed):
            return None
        return np.where(self.known, self.values, computed)

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
    values = _array(written, leaves)
    if values is None:
        raise ValueError("the rows differ in length")
    return values


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
    return min(max([0, *places]), MOST_DECIMALS) if leaves else None


def as_written(leaf: Any) -> str:
    """A stated number or word, for people."""
    if isinstance(leaf, str):
        return leaf
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
    stray = [leaf for leaf in leaves if isinstance(leaf, bool) or not isinstance(leaf, Decimal | int | str)]
    if stray:
        raise ValueError(f"{stray[0]} is neither a number nor a word")
    kinds = {isinstance(leaf, str) for leaf in leaves if leaf != UNSTATED}
    if len(kinds) > 1:
        raise ValueError("numbers and words are mixed")
    nested = np.array(written, object)
    if any(isinstance(item, list) for item in nested.flat):  # they stay lists where their lengths differ
        return None
    flat = np.array(leaves, np.str_) if True in kinds else np.array([_float(leaf) for leaf in leaves], np.float64)
    return flat.reshape(nested.shape)


def _float(leaf: Any) -> float:
    if leaf == UNSTATED:
        return np.nan
    try:
        value = float(leaf)
    except OverflowError:
        value = np.inf
    if np.isinf(value) and not (isinstance(leaf, Decimal) and leaf.is_infinite()):
        raise ValueError("a number is too large")
    return value


def _unit(leaf: Any) -> float:
    return float(f"1e{leaf.as_tuple().exponent}") if isinstance(leaf, Decimal) and leaf.is_finite() else 1.0
