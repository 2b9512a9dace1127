"""Expressions such as `softmax(Q @ K.T / sqrt(d_k)) @ V`, read and computed without ever running them as Python.

Only what is listed here exists: numbers, names, lists, arithmetic, comparisons, places `x[0, 1:]` and new axes
`x[:, None]`, the transpose `.T` and the calls of `functions.py`. Length, depth, size and work are bounded, so that no
expression hangs or fills the memory.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pellucid.errors import nearest
from pellucid.worked.evaluation import (
    OPERATIONS,
    Budget,
    Evaluation,
    ExpressionError,
    MisfitError,
    Operator,
    index_parts,
    is_new_axis,
)
from pellucid.worked.functions import FUNCTIONS, Function, Value, transposed

__all__ = ["MOST_CHARACTERS", "Budget", "ExpressionError", "MisfitError", "evaluate", "names", "parse"]

MOST_CHARACTERS = 500
MOST_DEPTH = 50


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
        case ast.Compare(ops=[operator]) if isinstance(operator, tuple(OPERATIONS)):
            pass
        case ast.Compare():
            raise ExpressionError("only two values can be compared", node.col_offset, "write (a < b) * (b < c)")
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
    """The expressions directly inside one (the name of a called function is none, and a new axis has none)."""
    if isinstance(node, ast.Subscript):
        yield node.value
        yield from (part for part in index_parts(node) if not is_new_axis(part))
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword):
            yield child.value
        elif isinstance(child, ast.expr) and not (isinstance(node, ast.Call) and child is node.func):
            yield child


def names(tree: ast.expr) -> list[ast.Name]:
    """The values an expression speaks of, in the order written."""
    return [tree] if isinstance(tree, ast.Name) else [name for child in children(tree) for name in names(child)]


def evaluate(
    tree: ast.expr,
    values: Mapping[str, Value],
    functions: Mapping[str, Function] = FUNCTIONS,
    budget: Budget | None = None,
) -> Value:
    """The value of a tree that `parse` gave, over named values."""
    with np.errstate(all="ignore"):  # inf and nan are answers here: a worked example may be about them
        return _ValueEvaluation(values, functions, budget or Budget()).value(tree)


class _ValueEvaluation(Evaluation[Value]):
    def exactly(self, value: Value) -> Value:
        return value

    def plain(self, operand: Value) -> Value:
        return operand

    def operate(self, operator: Operator, left: Value, right: Value) -> Value:
        return self.operation(operator, left, right)

    def negative(self, operand: Value) -> Value:
        return np.asarray(-operand)

    def transpose(self, operand: Value) -> Value:
        return transposed(operand)

    def stack(self, items: list[Value]) -> Value:
        return self.stacked(items)

    def call(self, name: str, positional: list[Value], named: dict[str, Value]) -> Value:
        return self.called(name, positional, named)

    def at(self, operand: Value, index: Sequence[Any], places: list[Value]) -> Value:  # noqa: ARG002
        return self.taken(operand, index)
