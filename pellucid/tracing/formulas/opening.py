"""One number of a trace with its computation: the operands with their numbers, each of which can be opened in turn.

With the operands that it shows, every computation gives its number again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from pellucid.errors import UserError, nearest
from pellucid.reference import functions as f
from pellucid.tracing.formulas.cells import Cell, Data, Numbers, number
from pellucid.tracing.formulas.formula import Operand


def open_cell(numbers: Numbers, name: str, index: tuple[int, ...]) -> Data:
    """The number at that place of a value, and its computation."""
    if name not in numbers.names():
        raise UserError(f"no value is called {name!r}", "cell", nearest(name, numbers.names()))
    shape = numbers.value(name).shape
    if len(index) != len(shape) or not all(0 <= at < size for at, size in zip(index, shape, strict=True)):
        given = ".".join(map(str, index)) or "nothing"
        ranges = ", ".join(f"0 to {size - 1}" for size in shape)
        raise UserError(f"{name} has no number at {given}", "cell", f"give {len(shape)} places: {ranges}")
    formula = numbers.formula(name)
    head = index[0] if formula.per else None
    place = Cell(numbers, formula, head, *index[-2:])
    return {
        "value": name,
        "index": list(index),
        "symbol": formula.symbol,
        "number": number(numbers.value(name)[index]),
        "formula": numbers.formulas.index(formula),
        "changed": list(formula.changed),
        "computation": {"op": formula.operation} | COMPUTATIONS[formula.operation](place),
    }


def _lookup(cell: Cell) -> Data:
    """A number of the embedding of a token, times sqrt(d_model)."""
    [weight], [(_, tokens)] = cell.operands("weight"), cell.operands("tokens")
    token = cell.numbers.tokens[tokens.name][cell.row]
    scale = sqrt(cell.config.d_model) if cell.config.embedding_scale else None
    return {"token": token, "cell": cell.one(*weight, token, cell.column), "scale": scale}


def _position(cell: Cell) -> Data:
    """Sine or cosine of position / 10000^(2 pair / size)."""
    pair, cosine = _in_pair(cell, cell.config.d_model)
    return {"function": "cos" if cosine else "sin", **_angle_of(cell.row, pair, cell.config.d_model)}


def _in_pair(cell: Cell, size: int) -> tuple[int, int]:
    """Which pair of features a column belongs to, and whether it is the first or second of them."""
    if cell.config.position_layout == "interleaved":
        return divmod(cell.column, 2)
    second, pair = divmod(cell.column, size // 2)
    return pair, second


def _angle(cell: Cell) -> Data:
    return _angle_of(cell.row, cell.column, cell.config.d_head)


def _angle_of(position: int, pair: int, size: int) -> Data:
    angle = float(f.angles([position], size)[0, pair])
    return {"position": position, "pair": pair, "size": size, "angle": angle}


def _row(cell: Cell) -> Data:
    [table] = cell.operands("weight")
    return {"cell": cell.one(*table, cell.row, cell.column)}


def _copy(cell: Cell) -> Data:
    [source] = cell.operands()
    return {"cell": cell.one(*source, cell.row, cell.column)}


def _add(cell: Cell) -> Data:
    """Two numbers at the same place. A position has no rows of its own for each sentence: its index is the same."""
    return {"cells": [cell.one(*operand, cell.row, cell.column) for operand in cell.operands()]}


def _mean(cell: Cell) -> Data:
    """The mean over the heads."""
    [weights] = cell.operands()
    return {"cells": [cell.one(*weights, head, cell.row, cell.column) for head in range(cell.config.heads)]}


def _norm(cell: Cell) -> Data:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta of a row, or of a feature where its statistics are fixed."""
    row = cell.vector(*cell.operands()[0], cell.row, None)
    x = np.array(row["numbers"])
    weights = {operand.name.rsplit(".", 1)[1]: (label, operand) for label, operand in cell.operands("weight")}
    mean: float | None = float(x.mean())
    variance = float(((x - mean) ** 2).mean())
    if cell.config.norm == "rms":
        mean, variance = None, float((x**2).mean())
    if cell.config.norm == "batch":
        mean = cell.one(*weights["running_mean"], cell.column)["number"]
        variance = cell.one(*weights["running_variance"], cell.column)["number"]
    return {
        "norm": cell.config.norm,
        "row": row,
        "at": cell.column,
        "mean": mean,
        "variance": variance,
        "epsilon": f.EPSILON,
        "gamma": cell.one(*weights["weight"], cell.column),
        "beta": cell.one(*weights["bias"], cell.column) if "bias" in weights else None,
    }


def _linear(cell: Cell) -> Data:
    """A row of the operand times a column of the matrix, plus a bias."""
    [(label, x)], weights = cell.operands(), cell.operands("weight")
    return _dot(cell, (label, x), weights)


def _dot(cell: Cell, x: tuple[str, Operand], weights: Sequence[tuple[str, Operand]]) -> Data:
    matrix, *bias = weights
    # A matrix is stored (out, in), so a column of it, as the formula has it, is a row.
    start = cell.head * cell.config.d_head if cell.head is not None and matrix[1].per else 0
    out = start + cell.column
    index: tuple[int | None, ...] = (None, cell.row, None) if x[1].per == "each" else (cell.row, None)
    row, column = cell.vector(*x, *index), cell.vector(*matrix, out, None)
    added = cell.one(*bias[0], out) if bias else None
    number = float(np.dot(row["numbers"], column["numbers"])) + (added["number"] if added else 0.0)
    return {"row": row, "column": column, "bias": added, "number": number}


def _rotate(cell: Cell) -> Data:
    """One of two features of a pair, turned by the angle of its position."""
    (_, flat), angles = cell.operands()
    pair, at = _in_pair(cell, cell.config.d_head)
    half = cell.config.d_head // 2
    columns = (2 * pair, 2 * pair + 1) if cell.config.position_layout == "interleaved" else (pair, pair + half)
    before = replace(cell, formula=cell.numbers.formula(flat.name))
    parts = [_linear(replace(before, column=column)) for column in columns]
    return {"pair": parts, "angle": cell.one(*angles, cell.row, pair), "at": at}


def _scores(cell: Cell) -> Data:
    """A query times a key, divided by the square root of their size."""
    query, key = cell.operands()
    return {
        "query": cell.vector(*query, *cell.in_head(query[1]), cell.row, None),
        "key": cell.vector(*key, *cell.in_head(key[1]), cell.column, None),
        "divisor": sqrt(cell.config.d_head),
        "size": cell.config.d_head,
        "allowed": True,
    }


def _mask(cell: Cell) -> Data:
    """The score before the mask, and whether the query may attend to the key."""
    products = cell.operands()[0]
    allowed = cell.column <= cell.row
    return {"cell": cell.one(*products, *cell.in_head(products[1]), cell.row, cell.column), "allowed": allowed}


def _softmax(cell: Cell) -> Data:
    [scores] = cell.operands()
    row = cell.vector(*scores, *cell.in_head(scores[1]), cell.row, None)
    x = np.array([-np.inf if number is None else number for number in row["numbers"]])
    exponentials = np.exp(x - x.max())
    return {
        "row": row,
        "maximum": float(x.max()),
        "exponentials": exponentials.tolist(),
        "total": float(exponentials.sum()),
        "at": cell.column,
    }


def _weighted_sum(cell: Cell) -> Data:
    weights, values = cell.operands()
    return {
        "weights": cell.vector(*weights, *cell.in_head(weights[1]), cell.row, None),
        "values": cell.vector(*values, *cell.in_head(values[1]), None, cell.column),
    }


def _activation(cell: Cell) -> Data:
    """The activation function of a linear map, times a gate if there is one."""
    [x], weights = cell.operands(), cell.operands("weight")
    count = 2 if cell.config.bias else 1
    gate = weights[count:]
    return {
        "function": cell.formula.terms[0],
        "of": _dot(cell, x, weights[:count]),
        "gate": _dot(cell, x, gate) if gate else None,
    }


COMPUTATIONS = {
    "lookup": _lookup,
    "position": _position,
    "angle": _angle,
    "row": _row,
    "copy": _copy,
    "add": _add,
    "mean": _mean,
    "norm": _norm,
    "linear": _linear,
    "rotate": _rotate,
    "scores": _scores,
    "mask": _mask,
    "softmax": _softmax,
    "weighted_sum": _weighted_sum,
    "activation": _activation,
}
