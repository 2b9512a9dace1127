"""Expressions such as `softmax(Q @ K.T / sqrt(d_k)) @ V`, read and computed without ever running them as Python.

Only what is listed here exists: numbers, names, lists, arithmetic, places `x[0, 1:]`, the transpose `.T` and the calls
of `functions.py`. Length, depth, size and work are bounded, so that no expression hangs or fills the memory.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from pellucid.errors import nearest
from pellucid.worked.functions import (
    FUNCTIONS,
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

MOST_CHARACTERS = 500
MOST_DEPTH = 50
MOST_DIMENSIONS = 4
MOST_WORK = 10_000_000  # multiplications, about

CONSTANTS = {"inf": np.inf, "pi": np.pi}
OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}


class ExpressionError(Exception):
    """An expression that cannot be read or computed, and the column (from 0) where that shows."""

    def __init__(self, what: str, column: int, remedy: str = "") -> None:
        super().__init__(what)
        self.what, self.column, self.remedy = what, column, remedy


class MisfitError(ExpressionError):
    """The expression is sound, but the values do not go together in it."""


def parse(text: str) -> ast.expr:
    """The tree of an expression in which everything is allowed."""
    if len(text) > MOST_CHARACTERS:
        what = f"the expression is too long ({len(text)} characters, at most {MOST_CHARACTERS})"
        raise ExpressionError(what, 0, "make it two steps")
    line = " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
    indent = len(line) - len(line.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's advice on style is not for the reader of a worked example
            tree = ast.parse(line.strip(), mode="eval").body
    except SyntaxError as error:
        if not error.offset:
            raise ExpressionError("cannot be read: it ends too early", len(line.rstrip())) from None
        raise ExpressionError(f"cannot be read: {error.msg}", min(indent + error.offset - 1, len(text))) from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError("cannot be read", 0, "write it simpler") from None
    encoded = line.strip().encode()
    for node in ast.walk(tree):  # columns in characters of the text as given: Python counts bytes of the stripped one
        if isinstance(node, ast.expr | ast.keyword):
            node.col_offset = indent + len(encoded[: node.col_offset].decode(errors="ignore"))
    _allow(tree, 0)
    return tree


def _allow(node: ast.expr, depth: int) -> None:
    if depth > MOST_DEPTH:
        raise ExpressionError("nested too deep", node.col_offset, "make it two steps")
    match node:
        case ast.Constant(value=int() | float()) | ast.Name() | ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            pass
        case ast.List() | ast.Tuple() | ast.Subscript() | ast.Slice() | ast.Attribute(attr="T"):
            pass
        case ast.BinOp(op=operator) if isinstance(operator, (ast.MatMult, *OPERATIONS)):
            pass
        case ast.Attribute(attr=name):
            raise ExpressionError(f"unknown attribute .{name}", node.col_offset, "only .T, the transpose, is known")
        case ast.Call(func=ast.Name(id=name)):
            _allow_call(node, name)
        case _:
            allowed = f"numbers, names, lists, + - * / // % ** @, .T, x[0] and {', '.join(FUNCTIONS)} are"
            raise ExpressionError(f"{type(node).__name__} is not allowed in an expression", node.col_offset, allowed)
    for child in children(node):
        _allow(child, depth + 1)


def _allow_call(node: ast.Call, name: str) -> None:
    if name not in FUNCTIONS:
        raise ExpressionError(f"unknown function {name!r}", node.col_offset, nearest(name, FUNCTIONS))
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        raise ExpressionError("arguments cannot be unpacked with *", node.col_offset, "write them out")
    signature = inspect.signature(FUNCTIONS[name])
    try:
        signature.bind(*node.args, **{str(keyword.arg): keyword.value for keyword in node.keywords})
    except TypeError as error:
        wanted = ", ".join(str(parameter).split(":")[0] for parameter in signature.parameters.values())
        raise ExpressionError(f"{name}: {error}", node.col_offset, f"{name}({wanted})") from None


def children(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions directly inside one (the name of a called function is none)."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword):
            yield child.value
        elif isinstance(child, ast.expr) and not (isinstance(node, ast.Call) and child is node.func):
            yield child


def names(tree: ast.expr) -> list[ast.Name]:
    """The values an expression speaks of, in the order written."""
    return [tree] if isinstance(tree, ast.Name) else [name for child in children(tree) for name in names(child)]


def evaluate(
    tree: ast.expr, values: Mapping[str, Value], functions: Mapping[str, Function] = FUNCTIONS, work: int = MOST_WORK
) -> Value:
    """The value of a tree that `parse` gave, over named values."""
    with np.errstate(all="ignore"):  # inf and nan are answers here: a worked example may be about them
        return _Evaluation(values, functions, work).value(tree)


class _Evaluation:
    def __init__(self, values: Mapping[str, Value], functions: Mapping[str, Function], work: int) -> None:
        self.values, self.functions, self.work = values, functions, work

    def value(self, node: ast.expr) -> Value:
        try:
            result = self._compute(node)
            self._spend(result.size)
        except FitError as misfit:
            raise MisfitError(str(misfit), node.col_offset) from None
        except (SizeError, OverflowError) as much:  # float() of a whole number overflows
            what = str(much) if isinstance(much, SizeError) else "this number is too large"
            raise ExpressionError(what, node.col_offset, "work on something smaller") from None
        return result

    def _spend(self, work: int) -> None:
        self.work -= work + 1
        if self.work < 0:
            raise SizeError("this takes too much computing")

    def _compute(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=int() | float() as number):
                return np.asarray(float(number))
            case ast.Name(id=name) if name in self.values or name in CONSTANTS:
                return self.values[name] if name in self.values else np.asarray(CONSTANTS[name])
            case ast.Name(id=name):
                raise ExpressionError(f"unknown name {name!r}", node.col_offset, nearest(name, self.values))
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self._matmul(self.value(left), self.value(right))
            case ast.BinOp(left=left, op=operator, right=right):
                pair = numbers(self.value(left)), numbers(self.value(right))
                common_shape(*pair)
                return np.asarray(OPERATIONS[type(operator)](*pair))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return np.asarray(-numbers(self.value(operand)))
            case ast.UnaryOp(operand=operand):
                return numbers(self.value(operand))
            case ast.List(elts=items) | ast.Tuple(elts=items):
                result = stack([self.value(item) for item in items])
                if result.ndim > MOST_DIMENSIONS:
                    raise SizeError(f"more than {MOST_DIMENSIONS} dimensions")
                return result
            case ast.Attribute(value=inner):
                matrix = self.value(inner)
                return np.swapaxes(matrix, -1, -2) if matrix.ndim > 1 else matrix
            case ast.Subscript(value=inner, slice=place):
                return self._at(self.value(inner), place)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                return self._call(name, arguments, keywords)
        raise FitError(f"{type(node).__name__} has no value of its own")  # a slice outside of x[...]

    def _call(self, name: str, arguments: list[ast.expr], keywords: list[ast.keyword]) -> Value:
        positional = [self.value(argument) for argument in arguments]
        named = {str(keyword.arg): self.value(keyword.value) for keyword in keywords}
        self._spend(10 * sum(value.size for value in (*positional, *named.values())))
        return np.asarray(self.functions[name](*positional, **named))

    def _matmul(self, left: Value, right: Value) -> Value:
        left, right = numbers(left), numbers(right)
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
        self._spend(int(np.prod(outer)) * rows * columns * inner)
        return np.asarray(left @ right)

    def _at(self, value: Value, place: ast.expr) -> Value:
        parts = place.elts if isinstance(place, ast.Tuple) else [place]
        index = tuple(self._place(part) for part in parts)
        if sum(isinstance(part, np.ndarray) for part in index) and (len(index) > 1 or value.ndim == 0):
            raise FitError("a list of places stands alone: x[places]")
        if isinstance(index[0], np.ndarray):
            room(index[0].size, *value.shape[1:])
        try:
            return np.asarray(value[index])
        except IndexError:
            raise FitError(f"a value of shape {value.shape} has no such place") from None

    def _place(self, part: ast.expr) -> Any:
        """What stands between the brackets: a number, a slice, or a list of whole numbers."""
        if isinstance(part, ast.Slice):
            bounds = [None if end is None else integer(self.value(end)) for end in (part.lower, part.upper, part.step)]
            if bounds[2] == 0:
                raise FitError("a slice cannot go on by 0")
            return slice(*bounds)
        places = self.value(part)
        if places.ndim == 0:
            return integer(places)
        if places.ndim > 1 or places.dtype.kind != "f" or not (np.isfinite(places) & (places % 1 == 0)).all():
            raise FitError("a list of whole numbers is needed here")
        return places.astype(np.int64)
