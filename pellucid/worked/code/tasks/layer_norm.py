"""Layer normalisation of each token's features."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from pellucid import reference
from pellucid.worked.code.task import Array, Case, Fill, Knobs, MisfitError, Property, Reading, Size, Task, unchanged
from pellucid.worked.code.tasks.softmax import whole_numbers

NO_EPSILON = "epsilon missing: a row of equal numbers divides 0 by 0"
SLIPS: dict[str, tuple[Knobs, ...]] = {
    "wrong axis: a feature is normalised over the tokens, not a token over its features": (
        {"over": "tokens"},
        {"over": "first axis"},
    ),
    "the whole matrix is normalised at once, not each token": ({"over": "everything"}, {"over": "each matrix"}),
    "missing keepdims: the means of the rows are laid along the columns": ({"over": "across"},),
    "sample standard deviation: the variance is divided by n - 1, not by n": ({"spread": "sample deviation"},),
    "the variance is used for the standard deviation: a square root is missing": (
        {"spread": "variance"},
        {"spread": "sample variance"},
    ),
    "the mean is not subtracted": ({"centre": "none"},),
    "the root mean square for the standard deviation": ({"spread": "root mean square"},),
    "RMS norm, not layer norm: no mean is subtracted": ({"spread": "root mean square", "centre": "none"},),
    "the deviation is not divided by": ({"spread": "none"},),
    "the median is used for the mean": ({"centre": "median"},),
    "gamma and beta are swapped": ({"scales": "swapped"},),
    "gamma is not used": ({"scales": "no gamma"},),
    "beta is not used": ({"scales": "no beta"},),
    "gamma and beta are not used": ({"scales": "none"},),
    "beta is added before the multiplication by gamma": ({"scales": "beta first"},),
    "a division by gamma, not a multiplication": ({"scales": "divided"},),
    "beta is subtracted, not added": ({"scales": "subtracted"},),
    NO_EPSILON: ({"epsilon": "none"},),
    "epsilon too large: it changes ordinary numbers": ({"epsilon": "0.1"}, {"epsilon": "1"}, {"epsilon": "0.01"}),
}


def slipped_layer_norm(x: Array, gamma: Array, beta: Array, **knobs: str) -> Array:
    """(x - mean) / sd * gamma + beta, with its parts to be changed."""
    over, spread, centre = knobs.get("over", "features"), knobs.get("spread", "deviation"), knobs.get("centre", "mean")
    axes = _axes(x, over)
    mean = x.mean(axis=axes, keepdims=True)
    count = np.prod([x.shape[axis] for axis in (axes if isinstance(axes, tuple) else (axes,))])
    square = ((x - (0 if "root" in spread else mean)) ** 2).mean(axis=axes, keepdims=True)
    with np.errstate(all="ignore"):
        square = square * count / (count - 1) if "sample" in spread else square
        epsilon = knobs.get("epsilon", "1e-5")
        square = square + (0.0 if epsilon == "none" else float(epsilon))
        below = np.ones_like(square) if spread == "none" else square if "variance" in spread else np.sqrt(square)
        middle = {"mean": mean, "none": 0 * mean, "median": np.median(x, axis=axes, keepdims=True)}[centre]
        if over == "across":
            middle, below = np.swapaxes(middle, -1, -2), np.swapaxes(below, -1, -2)
        y = np.asarray((x - middle) / below)
        results = {
            "": y * gamma + beta,
            "swapped": y * beta + gamma,
            "no gamma": y + beta,
            "no beta": y * gamma,
            "none": y,
            "beta first": (y + beta) * gamma,
            "divided": y / gamma + beta,
            "subtracted": y * gamma - beta,
        }
    return np.asarray(results[knobs.get("scales", "")])


def _axes(x: Array, over: str) -> int | tuple[int, ...]:
    if over == "features":
        return -1
    if x.ndim < 2 or (over in ("first axis", "each matrix") and x.ndim < 3):
        raise MisfitError
    if over == "across":
        if x.ndim > 2 or x.shape[0] != x.shape[1]:
            raise MisfitError
        return -1
    axes: dict[str, int | tuple[int, ...]] = {
        "tokens": -2,
        "first axis": 0,
        "each matrix": (-2, -1),
        "everything": tuple(range(x.ndim)),
    }
    return axes[over]


BATCHES: dict[Size, str] = {
    (3,): "a matrix of (tokens, features)",
    (2, 3): "a batch axis before the tokens",
    (): "the features of one token",
}


def _readings(roles: Mapping[str, str], _source: str) -> list[Reading]:
    vector = roles["x"].lower().strip("_") in ("vector", "vec", "row")
    batches = [()] if vector else list(BATCHES)
    scales = tuple(role for role in ("gamma", "beta") if role in roles)
    return [
        # one token is no test of the axis: it is tried only where a matrix cannot be given
        {"lead": lead, "epsilon": epsilon, "scales": scales, "fallback": not lead and not vector}
        for epsilon, lead in product((1e-5, 1e-3), batches)
    ]


def _words(reading: Reading) -> list[str]:
    scales = " and ".join(reading["scales"])
    return [BATCHES[reading["lead"]], f"with {scales}" if scales else "without gamma and beta"]


def _build(fill: Fill, size: Size, reading: Reading) -> Case:
    tokens, features = size
    lead = (*reading["lead"][:-1], tokens) if reading["lead"] else ()
    return {"x": fill(*lead, features), **{role: fill(features) for role in reading["scales"]}}


def _arguments(case: Case, reading: Reading) -> Case:
    return {**case, "epsilon": reading["epsilon"]}


def _right(case: Case, reading: Reading) -> Array:
    return reference.layer_norm(case["x"], case.get("gamma", 1.0), case.get("beta", 0.0), reading["epsilon"])


def _slipped(case: Case, reading: Reading, **knobs: str) -> Array:
    gamma, beta = np.asarray(case.get("gamma", 1.0)), np.asarray(case.get("beta", 0.0))
    return slipped_layer_norm(case["x"], gamma, beta, **({"epsilon": str(reading["epsilon"])} | knobs))


LAYER_NORM = Task(
    name="layer_norm",
    names=(
        *("layer_norm", "layer_normalization", "layer_normalisation", "ln", "layer_normalize"),
        *("normalize_layer", "normalise_layer", "layer_normalise"),
    ),
    signatures=(("x",), ("x", "epsilon"), ("x", "gamma", "beta"), ("x", "gamma", "beta", "epsilon")),
    roles={
        "x": ("x", "z", "a", "inputs", "input", "h", "hidden", "tokens", "vector", "vec", "row", "data", "features"),
        "gamma": ("gamma", "g", "weight", "scale", "gain", "w"),
        "beta": ("beta", "b", "bias", "shift", "offset"),
        "epsilon": ("eps", "epsilon", "e"),
    },
    readings=_readings,
    words=_words,
    sizes=((1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3), (3, 4), (4, 5), (3, 6)),
    build=_build,
    arguments=_arguments,
    right=_right,
    slipped=_slipped,
    slips=SLIPS,
    properties=(
        Property("it is (x - mean) / sd * gamma + beta, over the features of each token"),
        Property("a token of equal numbers is no division by 0", values=(2.0,), cause=NO_EPSILON),
        Property("its arguments are left as they were", check=unchanged, cause="an in-place change of the input"),
        Property(
            "whole numbers are numbers too",
            change=whole_numbers,
            cause="a wrong dtype: the result is kept in an array of integers",
            applies=lambda reading: reading["library"] == "numpy",
        ),
    ),
)
