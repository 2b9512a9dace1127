"""softmax, and the ways to get one wrong, which attention shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pellucid import reference
from pellucid.worked.code.task import (
    Array,
    Case,
    Failure,
    Fill,
    Knobs,
    MisfitError,
    Property,
    Reading,
    Run,
    Size,
    Task,
    close,
    compare,
    unchanged,
)

OVERFLOW = "an overflow: exponentials without the maximum of each row subtracted first"
SLIPS: dict[str, tuple[Knobs, ...]] = {
    "wrong axis: softmax over the columns, not over each row": ({"over": "columns"}, {"over": "first axis"}),
    "softmax over the whole matrix: every row is divided by the sum of everything": (
        {"over": "everything"},
        {"over": "each matrix"},
    ),
    "missing keepdims: the sums of the rows are laid along the columns": ({"over": "across"},),
    OVERFLOW: ({"shift": "none"},),
    "the maximum of the whole matrix is subtracted, not that of each row: a row far below it vanishes": (
        {"shift": "whole maximum"},
    ),
    "wrong axis: the maximum of each column is subtracted, not that of each row": ({"shift": "column maximum"},),
    "the maximum is subtracted from the exponentials: exp(x) - max for exp(x - max)": (
        {"shift": "after"},
        {"shift": "whole after"},
    ),
    "no exponential: numbers are divided by their sum": ({"of": "numbers"},),
    "no division: exponentials that do not sum to 1": ({"of": "undivided"}, {"of": "undivided", "shift": "none"}),
    "no softmax": ({"of": "nothing"},),
    "the logarithm of softmax, not softmax": ({"of": "logarithm"},),
    "a power of 2, not of e": ({"of": "powers of 2"},),
    "a wrong sign: exp(-x) for exp(x)": ({"of": "negated"},),
    "a distance for a number: exp of the absolute value": ({"of": "absolute"},),
}


def slipped_softmax(x: Array, over: str = "rows", shift: str = "own maximum", of: str = "exponentials") -> Array:
    """softmax of the last axis, with its parts to be changed."""
    x = np.asarray(x, np.float64)
    axes = _axes(x, over)
    with np.errstate(all="ignore"):
        if of == "nothing":
            return x
        x = {"negated": -x, "absolute": np.abs(x), "powers of 2": x * np.log(2.0)}.get(of, x)
        if of == "numbers":
            return np.asarray(x / x.sum(axis=axes, keepdims=True))
        highest = np.max(x, axis=_axes_of_maximum(x, shift, axes), keepdims=True)
        least = np.where(np.isfinite(highest), highest, 0.0)
        if shift in ("after", "whole after"):
            exponentials = np.exp(x) - least
        else:
            exponentials = np.exp(x if shift == "none" else x - least)
        if of == "undivided":
            return np.asarray(exponentials)
        total = exponentials.sum(axis=axes, keepdims=True)
        if over == "across":
            total = np.swapaxes(total, -1, -2)
        share = np.asarray(exponentials / total)
        # a row of -inf alone, such as a row whose keys are all masked, has no distribution: zeros, as in the reference
        share = np.where((total == 0) & ~np.isfinite(highest), 0.0, share)
        return np.log(share) if of == "logarithm" else share


def _axes_of_maximum(x: Array, shift: str, axes: int | tuple[int, ...]) -> int | tuple[int, ...] | None:
    if shift == "column maximum":
        return _axes(x, "columns")
    return None if shift in ("whole maximum", "whole after") else axes


def _axes(x: Array, over: str) -> int | tuple[int, ...]:
    if over == "rows":
        return -1
    if x.ndim < 2 or (over in ("first axis", "each matrix") and x.ndim < 3):
        raise MisfitError
    if over == "across":
        if x.shape[-1] != x.shape[-2]:
            raise MisfitError
        return -1
    axes: dict[str, int | tuple[int, ...]] = {
        "columns": -2,
        "first axis": 0,
        "each matrix": (-2, -1),
        "everything": tuple(range(x.ndim)),
    }
    return axes[over]


def _readings(roles: Mapping[str, str], _source: str) -> list[Reading]:
    if roles["x"].lower().strip("_") in ("vector", "vec", "row") and "axis" not in roles:
        return [{"rank": 1, "fallback": False}]
    # a single row is no test of the axis: it is tried only where a matrix cannot be given
    return [{"rank": rank, "axis": "axis" in roles, "fallback": rank == 1} for rank in (2, 3, 1)]


def _words(reading: Reading) -> list[str]:
    ranks = {1: "of a vector", 2: "of each row of a matrix", 3: "of each row, with a batch axis"}
    return [ranks[reading["rank"]], *(["called with the last axis"] if reading.get("axis") else [])]


def _build(fill: Fill, size: Size, reading: Reading) -> Case:
    return {"x": fill(*(2,) * (reading["rank"] - 2), *size[2 - min(reading["rank"], 2) :])}


def _arguments(case: Case, _: Reading) -> Case:
    return {"x": case["x"], "axis": case.get("axis", -1)}


def _right(case: Case, _: Reading) -> Array:
    return reference.softmax(case["x"], axis=case.get("axis", -1))


def _slipped(case: Case, _: Reading, **knobs: str) -> Array:
    if "axis" in case:
        raise MisfitError
    return slipped_softmax(case["x"], **knobs)


def sums_to_one(run: Run, case: Case, right: Array) -> Failure | None:
    """Every row of the result sums to 1."""
    outcome = run(case)
    found = outcome.value
    if found is None or found.shape != right.shape or not np.isfinite(found).all():
        return compare(outcome, right)
    sums = found.sum(axis=-1)
    wrong = ~np.isclose(sums, 1.0, atol=1e-4)
    if not wrong.any():
        return None
    return Failure("numbers", f"a row sums to {float(sums[wrong].flat[0]):.6g}", found, right)


def whole_numbers(case: Case) -> dict[str, Any]:
    return {
        role: np.round(value).astype(np.int64) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
        for role, value in case.items()
    }


def along_the_columns(case: Case) -> Case:
    return {**case, "axis": 0}


def ignores_a_shift(run: Run, case: Case, right: Array) -> Failure | None:
    """softmax(x + c) = softmax(x)."""
    found, moved = run(case), run({**case, "x": case["x"] + 3.0})
    if found.value is None or moved.value is None:
        return compare(found, right) or compare(moved, right)
    if close(found.value, moved.value):
        return None
    return Failure("shift", "adding 3 to every number changes the result", moved.value, right)


SOFTMAX = Task(
    name="softmax",
    names=("softmax", "soft_max", "row_softmax", "softmax_rows", "softmax_row", "softmax_function"),
    signatures=(("x",),),
    roles={
        "x": (*"xzasev", "logits", "scores", "values", "inputs", "input", "array", "matrix", "data", "vector", "row"),
        "axis": ("axis", "dim"),
    },
    readings=_readings,
    words=_words,
    sizes=((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 3), (3, 5)),
    build=_build,
    arguments=_arguments,
    right=_right,
    slipped=_slipped,
    slips=SLIPS,
    properties=(
        Property("it is exp(x) / the sum of exp(x), row by row"),
        Property("every row sums to 1", check=sums_to_one),
        Property("adding the same number everywhere changes nothing", check=ignores_a_shift),
        Property("large numbers do not overflow", values=(0.0, 1000.0), cause=OVERFLOW),
        Property("a row of very negative numbers is not lost", values=(0.0, -1000.0, -1001.0), cause=OVERFLOW),
        Property("minus infinity gets the probability 0", values=(0.0, 1.0, -np.inf), change=lambda case: _open(case)),
        Property("its argument is left as it was", check=unchanged, cause="an in-place change of the input"),
        Property(
            "whole numbers are numbers too",
            change=whole_numbers,
            cause="a wrong dtype: the result is kept in an array of integers",
            applies=lambda reading: reading["library"] == "numpy",
        ),
        Property(
            "along axis 0 it is the softmax of each column",
            change=along_the_columns,
            cause="the axis that is asked for is ignored, at least in part",
            applies=lambda reading: bool(reading.get("axis")),
        ),
    ),
)


def _open(case: Case) -> Case:
    """The case with a finite number in every row: a row of minus infinity alone has no softmax."""
    x = case["x"].copy()
    x[..., 0] = np.where(np.isfinite(x[..., 0]), x[..., 0], 0.0)
    return {**case, "x": x}
