"""Which expressions give numbers that nobody rounds."""

from __future__ import annotations

import ast


def counts(tree: ast.expr) -> bool:
    """Whether an expression gives places, sizes or yes and no: whole numbers that nobody rounds."""
    match tree:
        case ast.Call(func=ast.Name(id=name)):
            return name in ("argmax", "argmin", "argsort", "top_k_places", "shape", "floor", "arange", "causal")
        case ast.Subscript(value=value) | ast.Attribute(value=value):
            return counts(value)
    return isinstance(tree, ast.Compare) or (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.FloorDiv))


def moves(tree: ast.expr) -> bool:
    """Whether an expression only moves numbers about: `W.T`, `x[0]`, `concat(a, b)`."""
    match tree:
        case ast.Name():
            return True
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            return moves(value)
        case ast.Call(func=ast.Name(id="concat"), args=parts) | ast.List(elts=parts):
            return all(map(moves, parts))
    return False
