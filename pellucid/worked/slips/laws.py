"""Laws that numbers must keep: what is stated breaks one, and so cannot be right, whatever was worked."""

from __future__ import annotations

import ast

import numpy as np
from numpy.typing import NDArray

from pellucid.worked.evaluator import names
from pellucid.worked.functions import Value
from pellucid.worked.numbers import Stated, fits
from pellucid.worked.slips.working import Working

EXACT, ROUNDING = 1e-9, 1e-2  # how far from 1 the sum of a distribution may lie: computed, and as written
Places = NDArray[np.bool_]


def broken_law(stated: Stated, wrong: Places, working: Working) -> str | None:
    if stated.values is None or stated.values.dtype.kind != "f":
        return None  # the laws are about numbers
    laws = (copied_row, no_distribution, outside_the_range, broken_symmetry, no_angle)
    causes = (law(stated.values, stated.unit, wrong, working) for law in laws)
    return next(filter(None, causes), None)


def shape_that_does_not_fit(stated: Stated | None, working: Working) -> str | None:
    if working.misfit:
        return f"a shape that does not fit: {working.misfit}"
    expected = working.right if working.right is not None else working.from_stated
    if stated is None or expected is None:
        return None
    if stated.values is None:
        return f"a shape that does not fit: the stated rows differ in length, right is {_shape(expected)}"
    if fits(stated.values, expected):
        if not ast.unparse(working.tree).startswith("shape("):
            return None
        return f"a shape that does not fit: stated {_sizes(stated.values)}, right {_sizes(expected)}"
    if stated.values.dtype.kind != expected.dtype.kind:
        due = "numbers" if expected.dtype.kind == "f" else "words"
        return f"no {due} are stated where {due} are due"
    cause = f"a shape that does not fit: stated is {_shape(stated.values)}, right is {_shape(expected)}"
    twice = (*expected.shape[:-1], 2 * expected.shape[-1]) if expected.ndim else (2,)
    if stated.whole(None) and stated.values.shape == twice:
        cause += '; is a comma meant as a decimal point? Then write 0.5, or "0,5" in quotes'
    return cause


def copied_row(stated: Value, _: Value, wrong: Places, working: Working) -> str | None:
    """A wrong row that stands elsewhere: in the same matrix, or in a value the expression speaks of."""
    if stated.ndim not in (1, 2):
        return None
    rows = np.atleast_2d(stated)
    sources = {"": rows}
    for name in dict.fromkeys(name.id for name in names(working.tree)):
        value = working.value(ast.Name(name, col_offset=0))
        if value is not None and value.dtype.kind == "f" and value.ndim in (1, 2) and value.shape[-1] > 1:
            sources[name] = np.atleast_2d(value)
    for place in np.flatnonzero(np.atleast_2d(wrong).any(axis=1)):
        for name, candidates in sources.items():
            for other, candidate in enumerate(candidates):
                if (name or other != place) and candidate.size > 1 and np.array_equal(rows[place], candidate):
                    return f"a copied row: row {place} is row {other}" + (f" of {name}" if name else "")
    return None


def no_distribution(stated: Value, unit: Value, wrong: Places, working: Working) -> str | None:
    """Rows that should sum to 1, further from it than rounding leads."""
    expected = working.from_stated if working.from_stated is not None else working.right
    if expected is None or not fits(stated, expected):
        return None
    if expected.ndim == 0:  # `sum(p)`, stated to be 1
        summed = isinstance(working.tree, ast.Call) and ast.unparse(working.tree.func) == "sum"
        claimed = summed and float(stated) == 1
        return f"a distribution that does not sum to 1: it sums to {float(expected):.6g}" if claimed else None
    if not _distributions(expected, EXACT):
        return None
    sums, slack = np.atleast_2d(stated).sum(axis=1), np.atleast_2d(unit).sum(axis=1) / 2
    for place in np.flatnonzero(np.atleast_2d(wrong).any(axis=1) & (np.abs(sums - 1) > slack * (1 + 1e-6))):
        return f"a distribution that does not sum to 1: row {place} sums to {sums[place]:.6g}"
    return None


def outside_the_range(stated: Value, unit: Value, wrong: Places, working: Working) -> str | None:
    """Averages below every value they average, or above: no weights give them."""
    averaged = _averaged(working)
    if averaged is None or stated.ndim > 2 or stated.shape[-1:] != averaged.shape[1:]:
        return None
    low, high = averaged.min(axis=0), averaged.max(axis=0)
    for place in np.argwhere(wrong & ((stated < low - unit / 2) | (stated > high + unit / 2))):
        number, column = float(stated[tuple(place)]), int(place[-1]) if place.size else 0
        bounds = f"{np.ravel(low)[column]:.6g} to {np.ravel(high)[column]:.6g}"
        return f"an average outside the range of its inputs: {number:.6g} is not within {bounds}"
    return None


def _averaged(working: Working) -> Value | None:
    """The values (rows) that a step averages: V in `weights @ V`, x in `mean(x)`."""
    match working.tree:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            weights, values = (working.value(side) for side in (left, right))
            if weights is None or values is None or values.ndim > 2 or not _distributions(weights, ROUNDING):
                return None
            return values
        case ast.Call(func=ast.Name(id="mean"), args=[argument], keywords=[]):
            values = working.value(argument)
            return None if values is None else values.reshape(-1)
    return None


def broken_symmetry(stated: Value, unit: Value, wrong: Places, working: Working) -> str | None:
    """A matrix that must equal its transpose and does not."""
    expected = working.from_stated if working.from_stated is not None else working.right
    if expected is None or not fits(stated, expected):
        return None
    if expected.ndim != 2 or expected.shape[0] != expected.shape[1] or not np.allclose(expected, expected.T, 1e-9, 0):
        return None
    apart = np.abs(stated - stated.T) > (unit + unit.T) / 2 * (1 + 1e-6)
    for row, column in np.argwhere(apart & (wrong | wrong.T)):
        pair = f"{stated[row, column]:.6g} and {stated[column, row]:.6g}"
        return f"a broken symmetry: {pair} face each other across the diagonal and should be equal"
    return None


def no_angle(stated: Value, unit: Value, wrong: Places, working: Working) -> str | None:
    """Two numbers added by a sinusoidal position that are not the sine and the cosine of one angle."""
    match working.tree:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if ast.unparse(right).startswith("sinusoidal("):
            rest = left
        case ast.BinOp(left=left, op=ast.Add(), right=right) if ast.unparse(left).startswith("sinusoidal("):
            rest = right
        case _:
            return None
    before = working.value(rest)
    if before is None or not fits(stated, before) or before.shape[-1:] < (2,):
        return None
    added = stated - before
    cosines = added[..., 1::2]
    sines = added[..., 0 : 2 * cosines.shape[-1] : 2]
    off = np.abs(np.hypot(sines, cosines) - 1) > 2 * unit[..., 1::2]  # further than rounding leads
    for place in np.argwhere(off & wrong[..., 1::2]):
        pair = f"{sines[tuple(place)]:.4g} and {cosines[tuple(place)]:.4g}"
        return f"no position adds this: {pair} are not the sine and the cosine of one angle"
    return None


def _distributions(value: Value, tolerance: float) -> bool:
    """Whether every row is one: nothing negative, sum 1."""
    if value.dtype.kind != "f" or value.ndim not in (1, 2) or value.shape[-1] < 2:
        return False
    return bool((value >= 0).all() and np.allclose(value.sum(axis=-1), 1, rtol=0, atol=tolerance))


def _shape(value: Value) -> str:
    return " × ".join(map(str, value.shape)) if value.shape else "a single number"


def _sizes(value: Value) -> str:
    sizes = ", ".join(f"{item:g}" for item in value.ravel())
    return f"({sizes})" if value.shape else sizes
