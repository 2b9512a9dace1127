"""Intervals, and the arithmetic of them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pellucid.worked.functions import Value

ANY_WORD = "\x00any"  # in `low` and `high`: which word it is depends on digits that are not written
Bounds = tuple[Value, Value]


@dataclass(frozen=True)
class Interval:
    """`value` follows from the numbers as written; `low` and `high` bound what follows from any they may stand for.

    All three have one shape. Words have equal bounds.
    """

    value: Value
    low: Value
    high: Value
    shares: bool = field(
        default=False, kw_only=True
    )  # whatever they are between their bounds, every row of numbers sums to 1
    lost: bool = field(
        default=False, kw_only=True
    )  # on the way here something may be no number, as the root of one below 0

    @classmethod
    def exactly(cls, value: Value) -> Interval:
        return cls(value, value, value)

    @property
    def exact(self) -> bool:
        if self.value.dtype.kind == "U":
            return not (self.low == ANY_WORD).any()
        return self.low is self.high or bool(np.array_equal(self.low, self.high, equal_nan=True))

    @property
    def middle(self) -> Value:
        return np.asarray(self.low + (self.high - self.low) / 2)

    @property
    def radius(self) -> Value:
        return np.asarray((self.high - self.low) / 2)


def around(middle: Value, radius: Value) -> Bounds:
    return np.asarray(middle - radius), np.asarray(middle + radius)


def extremes(*corners: Value) -> Bounds:
    """The least and the greatest of several results; nan, where one of them is no number."""
    return np.asarray(np.minimum.reduce(corners)), np.asarray(np.maximum.reduce(corners))


def sound(low: Value, high: Value) -> Bounds:
    """Where a bound is no number, anything is possible."""
    lost = np.isnan(low) | np.isnan(high)
    return np.where(lost, -np.inf, low), np.where(lost, np.inf, high)


def add(a: Interval, b: Interval) -> Bounds:
    return a.low + b.low, a.high + b.high


def subtract(a: Interval, b: Interval) -> Bounds:
    return a.low - b.high, a.high - b.low


def multiply(a: Interval, b: Interval) -> Bounds:
    return extremes(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)


def divide(a: Interval, b: Interval) -> Bounds:
    low, high = extremes(a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high)
    across = (b.low <= 0) & (b.high >= 0) & (b.low < b.high)  # a number near 0 divides into anything
    return np.where(across, -np.inf, low), np.where(across, np.inf, high)


def power(a: Interval, b: Interval) -> Bounds:
    """Between corners it rises or falls; but an even power of numbers around 0 has its least value there."""
    low, high = extremes(a.low**b.low, a.low**b.high, a.high**b.low, a.high**b.high)
    around_zero = (a.low < 0) & (a.high > 0)
    even = (b.low == b.high) & (b.low % 2 == 0) & (b.low > 0)
    odd = (b.low == b.high) & (b.low % 2 == 1) & (b.low > 0)
    low = np.where(around_zero & even, 0.0, low)
    lost = around_zero & ~even & ~odd
    return np.where(lost, np.nan, low), np.where(lost, np.nan, high)


def floor_divide(a: Interval, b: Interval) -> Bounds:
    low, high = divide(a, b)
    return np.floor(low), np.floor(high)


def modulo(a: Interval, b: Interval) -> Bounds:
    first, last = floor_divide(a, b)
    same = (first == last) & (b.low == b.high)
    least, most = np.minimum(b.low, 0.0), np.maximum(b.high, 0.0)
    return np.where(same, a.low - b.low * first, least), np.where(same, a.high - b.low * first, most)


def less(a: Interval, b: Interval) -> Bounds:
    return (a.high < b.low).astype(np.float64), (a.low < b.high).astype(np.float64)


def less_or_equal(a: Interval, b: Interval) -> Bounds:
    return (a.high <= b.low).astype(np.float64), (a.low <= b.high).astype(np.float64)


def equal(a: Interval, b: Interval) -> Bounds:
    if a.value.dtype.kind == "U":
        unknown = (a.low == ANY_WORD) | (b.low == ANY_WORD)
        return ((a.low == b.low) & ~unknown).astype(np.float64), ((a.low == b.low) | unknown).astype(np.float64)
    certain = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
    return certain.astype(np.float64), ((a.low <= b.high) & (b.low <= a.high)).astype(np.float64)


def unequal(a: Interval, b: Interval) -> Bounds:
    low, high = equal(a, b)
    return 1.0 - high, 1.0 - low


def matmul(a: Interval, b: Interval) -> Bounds:
    """By middles and radii: for radii small beside the numbers no wider than it must be."""
    if a.shares and b.value.ndim == 2:  # only what b differs by from its mean is uncertain
        centre = b.middle.mean(axis=0)
        low, high = matmul(Interval(a.value, a.low, a.high), Interval(b.value, b.low - centre, b.high - centre))
        return low + centre, high + centre
    am, ar, bm, br = a.middle, a.radius, b.middle, b.radius
    return around(am @ bm, np.abs(am) @ br + ar @ np.abs(bm) + ar @ br)


OPERATIONS: dict[type[ast.operator] | type[ast.cmpop], Callable[[Interval, Interval], Bounds]] = {
    ast.Add: add,
    ast.Sub: subtract,
    ast.Mult: multiply,
    ast.Div: divide,
    ast.FloorDiv: floor_divide,
    ast.Mod: modulo,
    ast.Pow: power,
    ast.Lt: less,
    ast.LtE: less_or_equal,
    ast.Gt: lambda a, b: less(b, a),
    ast.GtE: lambda a, b: less_or_equal(b, a),
    ast.Eq: equal,
    ast.NotEq: unequal,
}
