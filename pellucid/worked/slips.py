"""Slips people make, as changes of an expression: each variant is the same formula with one slip in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from itertools import islice
from typing import NamedTuple

import numpy as np

from pellucid.reference.functions import angles
from pellucid.worked.evaluator import parse
from pellucid.worked.functions import FUNCTIONS, FitError, Function, Value, axis_of, numbers, scales, sinusoidal, size

MOST_VARIANTS = 60
SAMPLE = "sample instead of population variance"
ONE_FREQUENCY = "one frequency reused for all dimensions"
ATTENTION = parse("softmax(Q @ K.T / sqrt(shape(K)[1])) @ V")  # a call of it, written out so that slips find a place


class Slip(NamedTuple):
    cause: str
    tree: ast.expr


def variants(tree: ast.expr) -> Iterator[Slip]:
    """The expression with one slip put in, once for every slip and place; the most telling first."""
    yield from islice(_variants(tree), MOST_VARIANTS)
    yield Slip("a transposed matrix: the result is transposed", _transposed(tree))


def _variants(node: ast.expr) -> Iterator[Slip]:
    yield from _slips_at(node)
    for field, content in ast.iter_fields(node):
        if isinstance(content, ast.expr) and not (isinstance(node, ast.Call) and field == "func"):
            for cause, changed in _variants(content):
                yield Slip(cause, _with(node, field, changed))
        elif isinstance(content, list):
            for place, item in enumerate(content):
                if isinstance(item, ast.expr):
                    for cause, changed in _variants(item):
                        yield Slip(cause, _with(node, field, [*content[:place], changed, *content[place + 1 :]]))


def _with(node: ast.expr, field: str, content: ast.expr | Sequence[ast.AST]) -> ast.expr:
    changed = copy(node)
    setattr(changed, field, content)
    return changed


def _slips_at(node: ast.expr) -> Iterator[Slip]:
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            yield from _slips_of_scale(node, left, right, "divided")
            if isinstance(left, ast.Call) and ast.unparse(left.func) == "sum":
                less = ast.BinOp(right, ast.Sub(), ast.Constant(1, col_offset=0), col_offset=right.col_offset)
                yield Slip(f"{SAMPLE}: divided by {ast.unparse(right)} - 1", _with(node, "right", less))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield from _slips_of_scale(node, left, right, "multiplied")
            yield from _slips_of_scale(node, right, left, "multiplied")
        case ast.BinOp(left=ast.Constant(value=10000), op=ast.Pow(), right=right):
            none = ast.BinOp(ast.Constant(0, col_offset=0), ast.Mult(), right, col_offset=right.col_offset)
            yield Slip(ONE_FREQUENCY, _with(node, "right", none))  # 10000^0, in the shape of all dimensions
        case ast.Attribute(value=inner):
            yield Slip(f"a transposed matrix: {ast.unparse(inner)} stands for {ast.unparse(node)}", inner)
        case ast.Name(id=name):
            yield Slip(f"a transposed matrix: {name}.T stands for {name}", _transposed(node))
        case ast.Call(func=ast.Name(id="attention"), args=[q, k, v], keywords=[]):
            for cause, changed in _variants(ATTENTION):
                yield Slip(cause, _Replace({"Q": q, "K": k, "V": v}).visit(deepcopy(changed)))
        case ast.Call(func=ast.Name(id=name)):
            for cause in SLIPPED.get(name, ()):
                yield Slip(cause, _with(node, "func", ast.Name(cause)))
            if name in ("sum", "mean"):
                yield from _slips_of_axis(node, name)


def _slips_of_scale(node: ast.BinOp, scaled: ast.expr, scale: ast.expr, done: str) -> Iterator[Slip]:
    yield Slip(f"a missing scale: not {done} by {ast.unparse(scale)}", scaled)
    twice = ast.BinOp(node, node.op, scale, col_offset=node.col_offset)
    yield Slip(f"a doubled scale: {done} by {ast.unparse(scale)} twice", twice)


def _slips_of_axis(node: ast.Call, name: str) -> Iterator[Slip]:
    """Another axis than the one written, or all of them."""
    others = [keyword for keyword in node.keywords if keyword.arg != "axis"]
    if len(others) == len(node.keywords):
        return
    for axis in (0, 1):
        asked = ast.keyword("axis", ast.Constant(axis, col_offset=node.col_offset))
        yield Slip(f"{name} over the wrong axis: {axis}", _with(node, "keywords", [asked, *others]))
    yield Slip(f"{name} over the whole matrix", _with(node, "keywords", others))


class _Replace(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, parts: dict[str, ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.parts.get(node.id, node)


def _transposed(node: ast.expr) -> ast.expr:
    return ast.Attribute(node, "T", col_offset=node.col_offset)


def _softmax_of_columns(x: Value, axis: Value | None = None) -> Value:
    if x.ndim < 2:
        raise FitError("a vector has one axis only")
    along_rows = axis_of(numbers(x), axis) in (-1, x.ndim - 1)
    return FUNCTIONS["softmax"](x, np.asarray(-2.0 if along_rows else -1.0))


def _softmax_divided_across(x: Value, axis: Value | None = None) -> Value:
    """NumPy without keepdims: the sums of the rows are laid along the columns."""
    if x.ndim != 2 or x.shape[0] != x.shape[1] or axis is not None:
        raise FitError("the sums of the rows do not lie along the columns")
    exponentials = np.exp(numbers(x))
    return np.asarray(exponentials / exponentials.sum(axis=1))


def _softmax_of_everything(x: Value, axis: Value | None = None) -> Value:
    axis_of(numbers(x), axis)  # refuses what softmax itself would refuse
    if x.ndim < 2:
        raise FitError("a vector is the whole already")
    return FUNCTIONS["softmax"](x.reshape(-1)).reshape(x.shape)


def _softmax_that_overflows(x: Value, axis: Value | None = None) -> Value:
    exponentials = np.exp(numbers(x))
    return np.asarray(exponentials / exponentials.sum(axis=axis_of(x, axis), keepdims=True))


def _of_sample(function: Function, power: float = 1.0) -> Function:
    """A mean over n elements, or a power of one, as if it were divided by n - 1."""

    def apply(x: Value, axis: Value | None = None, keepdims: Value | None = None) -> Value:
        count = np.float64(x.size if axis is None else x.shape[axis_of(x, axis)])
        return np.asarray(function(x, axis, keepdims) * (count / (count - 1)) ** power)

    return apply


def _layer_norm_of_sample(x: Value, gamma: Value | None = None, beta: Value | None = None) -> Value:
    gain, shift = scales(x, gamma, beta)
    deviation = _of_sample(FUNCTIONS["std"], 0.5)(x, np.asarray(-1.0), np.asarray(1.0))
    return np.asarray((x - x.mean(axis=-1, keepdims=True)) / deviation * gain + shift)


def _positions_of_one_frequency(length: Value, d_model: Value) -> Value:
    sinusoidal(length, d_model)  # raises if it is not a size
    angle = angles(np.arange(size(length)), 2)  # (length, 1): the highest frequency, 10000^0
    return np.tile(np.concatenate([np.sin(angle), np.cos(angle)], axis=1), size(d_model) // 2)


SLIPPED: dict[str, dict[str, Function]] = {
    "softmax": {
        "softmax over the wrong axis": _softmax_of_columns,
        "softmax over the wrong axis: each column divided by the sum of a row": _softmax_divided_across,
        "softmax over the whole matrix": _softmax_of_everything,
        "an overflow: exponentials without the maximum subtracted first": _softmax_that_overflows,
    },
    "var": {f"{SAMPLE}: divided by n - 1": _of_sample(FUNCTIONS["var"])},
    "std": {f"{SAMPLE}, below the root: divided by n - 1": _of_sample(FUNCTIONS["std"], 0.5)},
    "mean": {f"{SAMPLE}: a mean divided by n - 1": _of_sample(FUNCTIONS["mean"])},
    "layer_norm": {f"{SAMPLE}, inside layer_norm: divided by n - 1": _layer_norm_of_sample},
    "sinusoidal": {ONE_FREQUENCY: _positions_of_one_frequency},
    "relu": {"a missing ReLU: negative numbers are kept": numbers},
}
# Named by their causes, which no expression can spell: only a variant can call them.
SLIPPED_FUNCTIONS: dict[str, Function] = {cause: f for causes in SLIPPED.values() for cause, f in causes.items()}
