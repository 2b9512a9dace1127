"""The list of slips, `slips.toml`, and an expression with one of them put in, wherever it fits."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

MOST_VARIANTS = 600
# Calls written out, so that slips find a place inside them.
WRITTEN_OUT = {
    "attention(q, k, v)": "softmax(q @ k.T / sqrt(shape(k)[1])) @ v",
    "layer_norm(x)": "(x - mean(x, axis=-1, keepdims=True)) / std(x, axis=-1, keepdims=True)",
    "layer_norm(x, g)": "g * ((x - mean(x, axis=-1, keepdims=True)) / std(x, axis=-1, keepdims=True))",
    "layer_norm(x, g, b)": "g * ((x - mean(x, axis=-1, keepdims=True)) / std(x, axis=-1, keepdims=True)) + b",
}
Rest = tuple[list[ast.expr], list[ast.keyword]]  # what `...` stands for
Bindings = dict[str, ast.expr | Rest]


class Slip(NamedTuple):
    cause: str
    tree: ast.expr


@dataclass(frozen=True)
class SlipKind:
    """One kind of slip: its name, the rules that make it, and an example of an expression that it fits."""

    name: str
    rules: tuple[tuple[ast.expr, ast.expr], ...]
    expression: str
    inputs: Mapping[str, Any]


@cache
def kinds() -> list[SlipKind]:
    text = (Path(__file__).parent / "slips.toml").read_text(encoding="utf-8")
    return [
        SlipKind(
            entry["name"],
            tuple((_parsed(right), _parsed(wrong)) for right, wrong in entry["rules"]),
            entry["expression"],
            entry["inputs"],
        )
        for entry in tomllib.loads(text)["slips"]
    ]


@cache
def _written_out() -> list[tuple[ast.expr, ast.expr]]:
    return [(_parsed(call), _parsed(content)) for call, content in WRITTEN_OUT.items()]


def _parsed(text: str) -> ast.expr:
    tree = ast.parse(text, mode="eval").body
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.keyword):
            node.col_offset = 0
    return tree


def variants(tree: ast.expr, swaps: Mapping[str, Sequence[str]]) -> Iterator[Slip]:
    """The expression with one slip put in, once for every slip and place. Two slips that give one expression are one.

    `swaps` has for a name the others that may stand for it: values of the same shape.
    """
    found = {ast.unparse(tree)}
    for slip in islice(_variants(tree, swaps), MOST_VARIANTS):
        text = ast.unparse(slip.tree)
        if text not in found:
            found.add(text)
            yield slip


def _variants(tree: ast.expr, swaps: Mapping[str, Sequence[str]]) -> Iterator[Slip]:
    found: list[tuple[int, Slip]] = []
    for whole in (tree, *_rewritten(tree, _written_out())):
        for place, rebuild in _places(whole):
            for number, name, right, wrong in _rules().get(_root(place), ()):
                for bindings in _match(right, place, {}):
                    found.append((number, Slip(_named(name, bindings), rebuild(_filled(wrong, bindings)))))
    yield from (slip for _, slip in sorted(found, key=lambda each: each[0]))
    for place, rebuild in _places(tree):
        yield from (Slip(cause, rebuild(changed)) for cause, changed in _moved(place, swaps))
    yield Slip("a transposed matrix: the result is transposed", _transposed(tree))


@cache
def _rules() -> dict[str, list[tuple[int, str, ast.expr, ast.expr]]]:
    """The rules of all kinds, with the place of their kind, by what stands at the root of what they fit."""
    found: dict[str, list[tuple[int, str, ast.expr, ast.expr]]] = {}
    for number, kind in enumerate(kinds()):
        for right, wrong in kind.rules:
            found.setdefault(_root(right), []).append((number, kind.name, right, wrong))
    return found


def _root(node: ast.expr) -> str:
    """The function or the operator at the root of an expression."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name
        case ast.BinOp(op=operator) | ast.UnaryOp(op=operator):
            return type(operator).__name__
    return type(node).__name__


def _moved(node: ast.expr, swaps: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ast.expr]]:
    """A matrix that is transposed or is not, or another one of the same shape."""
    match node:
        case ast.Attribute(value=inner):
            yield f"a transposed matrix: {ast.unparse(inner)} stands for {ast.unparse(node)}", inner
        case ast.Name(id=name):
            yield f"a transposed matrix: {name}.T stands for {name}", _transposed(node)
            for other in swaps.get(name, ()):
                yield f"{other} stands for {name}", ast.Name(other, col_offset=0)


def _transposed(node: ast.expr) -> ast.expr:
    return ast.Attribute(node, "T", col_offset=node.col_offset)


def _rewritten(tree: ast.expr, rules: list[tuple[ast.expr, ast.expr]]) -> Iterator[ast.expr]:
    for place, rebuild in _places(tree):
        for right, wrong in rules:
            for bindings in _match(right, place, {}):
                yield rebuild(_filled(wrong, bindings))


def _places(tree: ast.expr) -> Iterator[tuple[ast.expr, Any]]:
    """Every expression inside one, and the function that gives the whole with another one in its place."""
    yield tree, lambda changed: changed
    for field, content in ast.iter_fields(tree):
        if isinstance(tree, ast.Call) and field == "func":
            continue
        for at, item in enumerate(content if isinstance(content, list) else [content]):
            if isinstance(item, ast.expr):
                for place, rebuild in _places(item):
                    index = at if isinstance(content, list) else None
                    yield place, lambda changed, r=rebuild, f=field, i=index: _with(tree, f, i, r(changed))


def _with(node: ast.expr, field: str, index: int | None, content: ast.expr) -> ast.expr:
    changed = copy(node)
    if index is None:
        setattr(changed, field, content)
    else:
        items = getattr(node, field)
        setattr(changed, field, [*items[:index], content, *items[index + 1 :]])
    return changed


def _match(pattern: Any, node: Any, bound: Bindings) -> Iterator[Bindings]:
    """All ways in which single letters of a pattern can stand for parts of an expression."""
    if isinstance(pattern, ast.Name) and len(pattern.id) == 1:
        if not isinstance(node, ast.expr) or isinstance(node, ast.Slice):
            return
        known = bound.get(pattern.id)
        if known is None:
            yield {**bound, pattern.id: node}
        elif isinstance(known, ast.expr) and ast.unparse(known) == ast.unparse(node):
            yield bound
    elif type(pattern) is not type(node):
        return
    elif isinstance(pattern, ast.Constant):
        if pattern.value == node.value:
            yield bound
    elif isinstance(pattern, ast.Call):
        yield from _match_call(pattern, node, bound)
    else:
        yield from _match_all(_parts(pattern), _parts(node), bound)
        if isinstance(pattern, ast.BinOp) and isinstance(pattern.op, ast.Add | ast.Mult):
            first, operator, second = _parts(node)
            yield from _match_all(_parts(pattern), [second, operator, first], bound)


def _match_call(pattern: ast.Call, node: ast.Call, bound: Bindings) -> Iterator[Bindings]:
    if ast.unparse(pattern.func) != ast.unparse(node.func):
        return
    wanted, named = pattern.args, [keyword.arg for keyword in pattern.keywords]
    open_ended = bool(wanted) and _is_rest(wanted[-1])
    if open_ended:
        wanted = wanted[:-1]
    rest = [keyword for keyword in node.keywords if keyword.arg not in named]
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if len(node.args) < len(wanted) or not set(named) <= given.keys():
        return
    if not open_ended and (rest or len(node.args) > len(wanted)):
        return
    pairs = [*wanted, *(keyword.value for keyword in pattern.keywords)]
    values = [*node.args[: len(wanted)], *(given[name] for name in named)]
    for bindings in _match_all(pairs, values, bound):
        yield {**bindings, "...": (node.args[len(wanted) :], rest)} if open_ended else bindings


def _match_all(patterns: list[Any], nodes: list[Any], bound: Bindings) -> Iterator[Bindings]:
    if len(patterns) != len(nodes):
        return
    if not patterns:
        yield bound
        return
    for bindings in _match(patterns[0], nodes[0], bound):
        yield from _match_all(patterns[1:], nodes[1:], bindings)


def _parts(node: ast.AST) -> list[Any]:
    """The parts of a node that must agree: expressions, operators, names of attributes."""
    parts: list[Any] = []
    for field, content in ast.iter_fields(node):
        if field != "ctx":
            parts += [len(content), *content] if isinstance(content, list) else [content]
    return [_Plain(part) if not isinstance(part, ast.AST) else part for part in parts]


class _Plain(ast.Constant):
    """A part that is no node: matched by its value."""


def _is_rest(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _filled(pattern: ast.expr, bindings: Bindings) -> ast.expr:
    return _Fill(bindings).visit(pattern)  # type: ignore[no-any-return]


def copied(node: ast.AST) -> ast.AST:
    """A node of its own: a transformer changes lists in place."""
    made = copy(node)
    for field, content in ast.iter_fields(node):
        if isinstance(content, list):
            setattr(made, field, list(content))
    return made


class _Fill(ast.NodeTransformer):
    """A copy of a pattern with what its letters stand for."""

    def __init__(self, bindings: Bindings) -> None:
        self.bindings = bindings

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return super().generic_visit(copied(node))

    def visit_Name(self, node: ast.Name) -> Any:
        return self.bindings.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> Any:
        filled = copy(node)
        filled.args = [self.visit(argument) for argument in node.args if not _is_rest(argument)]
        filled.keywords = [ast.keyword(keyword.arg, self.visit(keyword.value)) for keyword in node.keywords]
        if len(node.args) > len(filled.args):
            more, named = self.bindings["..."]  # type: ignore[misc]
            filled.args, filled.keywords = [*filled.args, *more], [*filled.keywords, *named]
        return filled


def _named(name: str, bindings: Bindings) -> str:
    """The name of a slip, with what its letters stand for."""
    for letter, node in bindings.items():
        if isinstance(node, ast.expr) and f"{{{letter}}}" in name:
            name = name.replace(f"{{{letter}}}", ast.unparse(node))
    return name
