"""The walk over the tree of an expression, whatever it computes with, and the limits of every operation."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from pellucid.errors import nearest
from pellucid.worked.functions import (
    FitError,
    Function,
    SizeError,
    Value,
    common_shape,
    integer,
    numbers,
    room,
    stack,
)

MOST_DIMENSIONS = 4
MOST_WORK = 10_000_000  # multiplications, about

CONSTANTS = {"inf": np.inf, "pi": np.pi}
Operator = type[ast.operator] | type[ast.cmpop]
Operand = TypeVar("Operand")
OPERATIONS: dict[Operator, Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


@dataclass
class Budget:
    """What is left of the computing that an expression, or all of a file together, may take."""

    work: int = MOST_WORK

    def spend(self, work: int) -> None:
        self.work -= work + 1
        if self.work < 0:
            raise SizeError("this takes too much computing")


class ExpressionError(Exception):
    """An expression that cannot be read or computed, and the column (from 0) where that shows."""

    def __init__(self, what: str, column: int, remedy: str = "") -> None:
        super().__init__(what)
        self.what, self.column, self.remedy = what, column, remedy


class MisfitError(ExpressionError):
    """The expression is sound, but the values do not go together in it."""


def index_parts(node: ast.Subscript) -> list[ast.expr]:
    """What stands between the brackets, comma by comma."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def is_new_axis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class Evaluation(ABC, Generic[Operand]):
    """A walk over a tree. What it computes with, plain values or intervals, is the subclass's choice."""

    def __init__(self, values: Mapping[str, Operand], functions: Mapping[str, Function], budget: Budget) -> None:
        self.values, self.functions, self.budget = values, functions, budget

    @abstractmethod
    def exactly(self, value: Value) -> Operand: ...

    @abstractmethod
    def plain(self, operand: Operand) -> Value: ...

    @abstractmethod
    def operate(self, operator: Operator, left: Operand, right: Operand) -> Operand: ...

    @abstractmethod
    def negative(self, operand: Operand) -> Operand: ...

    @abstractmethod
    def transpose(self, operand: Operand) -> Operand: ...

    @abstractmethod
    def stack(self, items: list[Operand]) -> Operand: ...

    @abstractmethod
    def call(self, name: str, positional: list[Operand], named: dict[str, Operand]) -> Operand: ...

    @abstractmethod
    def at(self, operand: Operand, index: Sequence[Any], places: list[Operand]) -> Operand: ...

    def value(self, node: ast.expr) -> Operand:
        try:
            result = self._compute(node)
            value = self.plain(result)
            self.budget.spend(value.size * value.itemsize // 8)
        except FitError as misfit:
            raise MisfitError(str(misfit), node.col_offset) from None
        except (SizeError, OverflowError) as much:  # float() of a whole number overflows
            what = str(much) if isinstance(much, SizeError) else "this number is too large"
            raise ExpressionError(what, node.col_offset, "work on something smaller") from None
        return result

    def _compute(self, node: ast.expr) -> Operand:
        match node:
            case ast.Constant(value=int() | float() as number):
                return self.exactly(np.asarray(float(number)))
            case ast.Name(id=name) if name in self.values or name in CONSTANTS:
                return self.values[name] if name in self.values else self.exactly(np.asarray(CONSTANTS[name]))
            case ast.Name(id=name):
                raise ExpressionError(f"unknown name {name!r}", node.col_offset, nearest(name, self.values))
            case ast.BinOp(left=left, op=operator, right=right):
                return self.operate(type(operator), self.value(left), self.value(right))
            case ast.Compare(left=left, ops=[comparison], comparators=[right]):
                return self.operate(type(comparison), self.value(left), self.value(right))
            case ast.UnaryOp(op=operator, operand=inner):
                operand = self.value(inner)
                numbers(self.plain(operand))
                return self.negative(operand) if isinstance(operator, ast.USub) else operand
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return self.stack([self.value(item) for item in items])
            case ast.Attribute(value=inner):
                return self.transpose(self.value(inner))
            case ast.Subscript(value=inner):
                return self._at(self.value(inner), index_parts(node))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                positional = [self.value(argument) for argument in arguments]
                return self.call(name, positional, {str(k.arg): self.value(k.value) for k in keywords})
        raise FitError(f"{type(node).__name__} has no value of its own")  # a slice outside of x[...]

    def _at(self, operand: Operand, parts: list[ast.expr]) -> Operand:
        places: list[Operand] = []
        return self.at(operand, [self._place(part, places) for part in parts], places)

    def _place(self, part: ast.expr, places: list[Operand]) -> Any:
        """What stands between the brackets: a number, a slice, a new axis, or a list of whole numbers."""
        if is_new_axis(part):
            return None
        if isinstance(part, ast.Slice):
            ends = (part.lower, part.upper, part.step)
            bounds = [None if end is None else integer(self.plain(self.value(end))) for end in ends]
            if bounds[2] == 0:
                raise FitError("a slice cannot go on by 0")
            return slice(*bounds)
        places.append(self.value(part))
        place = self.plain(places[-1])
        if place.ndim == 0:
            return integer(place)
        if place.ndim > 1 or place.dtype.kind != "f" or not (np.isfinite(place) & (place % 1 == 0)).all():
            raise FitError("a list of whole numbers is needed here")
        return place.astype(np.int64)

    # The operations on plain values, with their limits.

    def operation(self, operator: Operator, left: Value, right: Value) -> Value:
        if operator is ast.MatMult:
            return self._matmul(numbers(left), numbers(right))
        if operator in (ast.Eq, ast.NotEq):
            if left.dtype.kind != right.dtype.kind:
                raise FitError("words are not numbers")
        else:
            numbers(left), numbers(right)
        common_shape(left, right)
        result = np.asarray(OPERATIONS[operator](left, right))
        return result.astype(np.float64) if result.dtype.kind == "b" else result

    def stacked(self, items: list[Value]) -> Value:
        result = stack(items)
        if result.ndim > MOST_DIMENSIONS:
            raise SizeError(f"more than {MOST_DIMENSIONS} dimensions")
        return result

    def called(self, name: str, positional: list[Value], named: dict[str, Value]) -> Value:
        self.budget.spend(10 * sum(value.size for value in (*positional, *named.values())))
        return np.asarray(self.functions[name](*positional, **named))

    def taken(self, value: Value, index: Sequence[Any]) -> Value:
        lists = [part for part in index if isinstance(part, np.ndarray)]
        if lists and (len(index) > 1 or value.ndim == 0):
            raise FitError("a list of places stands alone: x[places]")
        if lists:
            room(lists[0].size, *value.shape[1:])
        if value.ndim + sum(part is None for part in index) > MOST_DIMENSIONS:
            raise SizeError(f"more than {MOST_DIMENSIONS} dimensions")
        try:
            return np.asarray(value[tuple(index)])
        except IndexError:
            raise FitError(f"a value of shape {value.shape} has no such place") from None

    def _matmul(self, left: Value, right: Value) -> Value:
        if left.ndim == 0 or right.ndim == 0:
            raise FitError("@ multiplies matrices and vectors; for a single number write *")
        inner = right.shape[-2] if right.ndim > 1 else right.shape[0]
        if left.shape[-1] != inner:
            raise FitError(f"{left.shape} @ {right.shape}: {left.shape[-1]} columns meet {inner} rows")
        try:
            outer = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        except ValueError:
            raise FitError(f"{left.shape} @ {right.shape} do not fit together") from None
        rows = left.shape[-2] if left.ndim > 1 else 1
        columns = right.shape[-1] if right.ndim > 1 else 1
        room(*outer, rows, columns)
        self.budget.spend(int(np.prod(outer)) * rows * columns * inner)
        return np.asarray(left @ right)
