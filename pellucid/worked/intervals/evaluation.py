"""The value of an expression together with its bounds."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.worked.evaluation import Budget, Evaluation, Operator
from pellucid.worked.functions import FUNCTIONS, Function, SizeError, Value, axis_of, room, transposed
from pellucid.worked.intervals.arithmetic import ANY_WORD, OPERATIONS, Bounds, Interval, matmul, sound
from pellucid.worked.intervals.functions import BOUNDS, BY_VALUE, RISING


def evaluate_interval(
    tree: ast.expr,
    values: Mapping[str, Interval],
    functions: Mapping[str, Function] = FUNCTIONS,
    budget: Budget | None = None,
) -> Interval:
    """The value of a tree, and bounds of what it is for any numbers inside those of `values`."""
    with np.errstate(all="ignore"):
        evaluation = _IntervalEvaluation(values, functions, budget or Budget())
        found = evaluation.value(tree)
        return replace(found, lost=True) if evaluation.lost else found


class _IntervalEvaluation(Evaluation[Interval]):
    """Each operation gives its plain value, by the plain evaluation, and bounds, where an operand is not exact."""

    lost = False  # whether anything on the way may be no number

    def exactly(self, value: Value) -> Interval:
        return Interval.exactly(value)

    def plain(self, operand: Interval) -> Value:
        return operand.value

    def operate(self, operator: Operator, left: Interval, right: Interval) -> Interval:
        value = self.operation(operator, left.value, right.value)
        if left.exact and right.exact:
            return Interval.exactly(value)
        if operator is ast.MatMult:
            return self._with(value, matmul(left, right))
        return self._with(value, OPERATIONS[operator](left, right))

    def negative(self, operand: Interval) -> Interval:
        return Interval(-operand.value, -operand.high, -operand.low)

    def transpose(self, operand: Interval) -> Interval:
        return _each(transposed, operand)

    def stack(self, items: list[Interval]) -> Interval:
        return _each(lambda *parts: self.stacked(list(parts)), *items)

    def call(self, name: str, positional: list[Interval], named: dict[str, Interval]) -> Interval:
        options = {key: each.value for key, each in named.items()}
        value = self.called(name, [each.value for each in positional], options)
        if name in BY_VALUE or name not in FUNCTIONS or all(each.exact for each in (*positional, *named.values())):
            return Interval.exactly(value)
        if name in RISING:
            function = self.functions[name]
            low = function(*(each.low for each in positional), **options)
            return self._with(value, (low, function(*(each.high for each in positional), **options)))
        if name in ("argsort", "top_k_places"):
            room(value.size, positional[0].value.shape[-1])
        result = self._with(value, BOUNDS[name](*positional, **named))
        axes = [*positional[1:], *named.values()]  # softmax has no other options
        self.lost = self.lost or (name in ("log", "sqrt") and bool((positional[0].low < 0).any()))
        by_rows = name == "softmax" and axis_of(value, axes[0].value if axes else None) in (-1, value.ndim - 1)
        return replace(result, shares=True) if by_rows else result

    def _with(self, value: Value, bounds: Bounds) -> Interval:
        """Bounds in the shape of the value, and around it: it is one of the possible results."""
        low, high = bounds
        if value.dtype.kind == "U":
            return Interval(value, low, high)
        self.lost = self.lost or bool(np.isnan(low).any() or np.isnan(high).any())
        low, high = (np.broadcast_to(bound, value.shape) for bound in sound(np.asarray(low), np.asarray(high)))
        return Interval(value, np.fmin(low, value), np.fmax(high, value))

    def at(self, operand: Interval, index: Sequence[Any], places: list[Interval]) -> Interval:
        """A place that depends on digits not written may be any of several."""
        taken = _each(lambda part: self.taken(part, index), operand)
        place = next((each for each in places if not each.exact), None)
        if place is None:
            return taken
        if len(index) > 1:
            raise SizeError("a place that is not certain stands alone: x[place]")
        first, last = _possible(place, len(operand.value))
        self.budget.spend(operand.value.size * int((first != last).sum()) + 100 * first.size)
        wide = np.promote_types(taken.value.dtype, f"U{len(ANY_WORD)}") if taken.value.dtype.kind == "U" else np.float64
        low, high = np.array(taken.low, wide), np.array(taken.high, wide)
        for at in np.argwhere(first != last):
            here = tuple(at)
            low[here], high[here] = _hull(operand, int(first[here]), int(last[here]))
        return Interval(taken.value, low, high)


def _each(function: Any, *operands: Interval) -> Interval:
    """A function that only moves numbers about, for the value and both bounds."""
    value = function(*(each.value for each in operands))
    if all(each.exact for each in operands):
        return Interval.exactly(value)
    low = function(*(each.low for each in operands))
    return Interval(value, low, low if value.dtype.kind == "U" else function(*(each.high for each in operands)))


def _possible(place: Interval, length: int) -> tuple[Value, Value]:
    """The first and the last place, both inside the value and on the side of its end that was written."""
    least = np.where(place.value < 0, -length, 0)
    first = np.clip(np.ceil(place.low), least, least + length - 1).astype(np.int64)
    last = np.clip(np.floor(place.high), least, least + length - 1).astype(np.int64)
    return first, last


def _hull(value: Interval, first: int, last: int) -> Bounds:
    span = slice(first, last + 1 or None)
    if value.value.dtype.kind == "U":
        any_word = np.full(value.value.shape[1:], ANY_WORD)
        return any_word, any_word
    return value.low[span].min(axis=0), value.high[span].max(axis=0)
