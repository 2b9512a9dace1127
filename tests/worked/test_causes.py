"""Every known slip, put into fresh random examples, is named; and nothing is named where no slip explains it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pellucid.worked import CheckedStep, check
from pellucid.worked.examples import read_text

pytestmark = pytest.mark.filterwarnings("error")  # nothing is muttered beside the verdicts

Array = NDArray[np.float64]
Random = np.random.Generator
SEEDS = st.integers(0, 2**32 - 1)


def toml(value: Any, digits: int = 6) -> str:
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim):
        return "[" + ", ".join(toml(item, digits) for item in value) + "]"
    return f"{float(value):.{digits}f}"


def checked(expression: str, stated: str, **inputs: Any) -> CheckedStep:
    lines = ["[inputs]", *(f"{name} = {toml(np.asarray(value))}" for name, value in inputs.items())]
    lines += ["[[steps]]", 'name = "step"', f'expression = "{expression}"', f"stated = {stated}"]
    return check(read_text("\n".join(lines), "test")).steps[0]


def matrix(random: Random, *shape: int) -> Array:
    return np.round(random.uniform(-2, 2, shape), 2)


def softmax(scores: Array, axis: int | None = -1) -> Array:
    exponentials = np.exp(scores)
    return np.asarray(exponentials / exponentials.sum(axis=axis, keepdims=True))


def transposed_key(random: Random) -> tuple[str, Array, dict[str, Any]]:
    Q, K = matrix(random, 3, 3), matrix(random, 3, 3)
    return "Q @ K.T", Q @ K, {"Q": Q, "K": K}


def transposed_weight(random: Random) -> tuple[str, Array, dict[str, Any]]:
    X, W = matrix(random, 2, 3), matrix(random, 3, 3)
    return "X @ W + 1", X @ W.T + 1, {"X": X, "W": W}


def transposed_result(random: Random) -> tuple[str, Array, dict[str, Any]]:
    Q, K = matrix(random, 2, 4), matrix(random, 3, 4)
    return "Q @ K.T", (Q @ K.T).T, {"Q": Q, "K": K}


def missing_scale(random: Random) -> tuple[str, Array, dict[str, Any]]:
    Q, K = matrix(random, 3, 5), matrix(random, 3, 5)
    return "softmax(Q @ K.T / sqrt(d_k))", softmax(Q @ K.T), {"Q": Q, "K": K, "d_k": 5}


def missing_scale_inside(random: Random) -> tuple[str, Array, dict[str, Any]]:
    Q, K, V = matrix(random, 2, 3), matrix(random, 4, 3), matrix(random, 4, 2)
    return "attention(Q, K, V)", softmax(Q @ K.T) @ V, {"Q": Q, "K": K, "V": V}


def doubled_scale(random: Random) -> tuple[str, Array, dict[str, Any]]:
    scores = matrix(random, 3, 3)
    return "scores / sqrt(d_k)", scores / 7, {"scores": scores, "d_k": 7}


def missing_factor(random: Random) -> tuple[str, Array, dict[str, Any]]:
    x, p = matrix(random, 4), matrix(random, 4)
    return "x * sqrt(d_model) + p", x + p, {"x": x, "p": p, "d_model": 6}


def columns_instead_of_rows(random: Random) -> tuple[str, Array, dict[str, Any]]:
    scores = matrix(random, 3, 4)
    return "softmax(scores)", softmax(scores, axis=0), {"scores": scores}


def row_sums_along_columns(random: Random) -> tuple[str, Array, dict[str, Any]]:
    scores = matrix(random, 3, 3)
    return "softmax(scores)", np.exp(scores) / np.exp(scores).sum(axis=1), {"scores": scores}


def everything_at_once(random: Random) -> tuple[str, Array, dict[str, Any]]:
    scores, V = matrix(random, 3, 3), matrix(random, 3, 2)
    return "softmax(scores) @ V", softmax(scores, axis=None) @ V, {"scores": scores, "V": V}


def sample_variance(random: Random) -> tuple[str, Array, dict[str, Any]]:
    x = matrix(random, 5)
    return "var(x)", np.asarray(np.var(x, ddof=1)), {"x": x}


def sample_deviation(random: Random) -> tuple[str, Array, dict[str, Any]]:
    x = matrix(random, 5)
    return "(x - mean(x)) / std(x)", (x - x.mean()) / x.std(ddof=1), {"x": x}


def sample_in_layer_norm(random: Random) -> tuple[str, Array, dict[str, Any]]:
    x = matrix(random, 2, 6)
    centred = x - x.mean(axis=-1, keepdims=True)
    return "layer_norm(x)", centred / x.std(axis=-1, ddof=1, keepdims=True), {"x": x}


def sample_variance_written_out(random: Random) -> tuple[str, Array, dict[str, Any]]:
    z = matrix(random, 5)
    return "sum((z - mean(z)) ** 2) / n", np.asarray(np.var(z, ddof=1)), {"z": z, "n": 5}


def sample_variance_as_a_mean(random: Random) -> tuple[str, Array, dict[str, Any]]:
    z = matrix(random, 5)
    return "sqrt(mean((z - m) ** 2))", np.asarray(np.std(z, ddof=1)), {"z": z, "m": z.mean()}


def softmax_written_out(random: Random) -> tuple[str, Array, dict[str, Any]]:
    scores = matrix(random, 3, 3)
    expression = "exp(scores) / sum(exp(scores), axis=1, keepdims=True)"
    return expression, softmax(scores, axis=0), {"scores": scores}


def softmax_of_everything_written_out(random: Random) -> tuple[str, Array, dict[str, Any]]:
    e = np.exp(matrix(random, 3, 4)).round(3)
    return "e / sum(e, axis=1, keepdims=True)", e / e.sum(), {"e": e}


def one_frequency_written_out(random: Random) -> tuple[str, Array, dict[str, Any]]:
    pairs, position = np.arange(3), random.integers(1, 9)
    expression = "sin(position / 10000 ** (2 * i / 6))"
    return expression, np.full(3, np.sin(position)), {"position": position, "i": pairs}


def one_frequency(random: Random) -> tuple[str, Array, dict[str, Any]]:
    length, embeddings = int(random.integers(2, 6)), matrix(random, 6, 6)
    turns = np.arange(length)[:, None]
    positions = np.tile(np.hstack([np.sin(turns), np.cos(turns)]), 3)
    stated = embeddings[:length] + positions
    return "x + sinusoidal(length, 6)", stated, {"x": embeddings[:length], "length": length}


SLIPS: dict[str, tuple[Callable[[Random], tuple[str, Array, dict[str, Any]]], ...]] = {
    "a transposed matrix": (transposed_key, transposed_weight, transposed_result),
    "a missing scale": (missing_scale, missing_scale_inside, missing_factor),
    "a doubled scale": (doubled_scale,),
    "softmax over the wrong axis": (columns_instead_of_rows, row_sums_along_columns),
    "softmax over the whole matrix": (everything_at_once,),
    "sample instead of population variance": (
        sample_variance,
        sample_deviation,
        sample_in_layer_norm,
        sample_variance_written_out,
        sample_variance_as_a_mean,
    ),
    "one frequency reused for all dimensions": (one_frequency, one_frequency_written_out),
    "sum over the wrong axis": (softmax_written_out,),
    "sum over the whole matrix": (softmax_of_everything_written_out,),
}


@pytest.mark.parametrize(
    ("cause", "slip"),
    [(cause, slip) for cause, slips in SLIPS.items() for slip in slips],
    ids=lambda x: getattr(x, "__name__", x),
)
@given(seed=SEEDS, digits=st.integers(3, 6))
def test_a_slip_is_named(
    cause: str, slip: Callable[[Random], tuple[str, Array, dict[str, Any]]], seed: int, digits: int
) -> None:
    expression, stated, inputs = slip(np.random.default_rng(seed))
    step = checked(expression, toml(stated, digits), **inputs)
    assume(step.verdict == "wrong")  # by chance a slip may change nothing
    assert step.cause is not None
    assert step.cause.startswith(cause)


@given(SEEDS)
def test_a_distribution_that_does_not_sum_to_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = matrix(random, 3, 4)
    stated = softmax(scores)
    row, column = random.integers(3), random.integers(4)
    stated[row, column] += 0.05
    cause = checked("softmax(scores)", toml(stated, 3), scores=scores).cause
    assert cause is not None
    assert cause.startswith(f"a distribution that does not sum to 1: row {row} sums to 1.0")


@given(SEEDS)
def test_an_average_outside_the_range_of_its_inputs(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, V = matrix(random, 3, 4), matrix(random, 4, 2)
    stated = softmax(scores) @ V
    row, column = random.integers(3), random.integers(2)
    stated[row, column] = V[:, column].max() + 0.1 if random.random() < 0.5 else V[:, column].min() - 0.1
    cause = checked("softmax(scores) @ V", toml(stated, 3), scores=scores, V=V).cause
    assert cause is not None
    assert cause.startswith(f"an average outside the range of its inputs: {round(stated[row, column], 3):.6g}")


@given(SEEDS)
def test_a_mean_outside_the_range(seed: int) -> None:
    x = matrix(np.random.default_rng(seed), 5)
    cause = checked("mean(x)", toml(x.max() + 0.3, 2), x=x).cause
    assert cause is not None
    assert cause.startswith("an average outside the range of its inputs")


@given(SEEDS)
def test_a_broken_symmetry(seed: int) -> None:
    random = np.random.default_rng(seed)
    X = matrix(random, 3, 4)
    stated = X @ X.T
    stated[0, 1 + random.integers(2)] += 0.3
    cause = checked("X @ X.T", toml(stated, 3), X=X).cause
    assert cause is not None
    assert cause.startswith("a broken symmetry")


@given(SEEDS)
def test_a_copied_row(seed: int) -> None:
    random = np.random.default_rng(seed)
    X, W = matrix(random, 4, 3), matrix(random, 3, 3)
    stated = X @ W
    source, copy = random.permutation(4)[:2]
    stated[copy] = stated[source]
    step = checked("X @ W", toml(stated, 3), X=X, W=W)
    assume(step.verdict == "wrong")
    assert step.cause == f"a copied row: row {copy} is row {source}"
    stated = X @ W
    stated[copy] = X[source]
    assert checked("X @ W", toml(stated, 3), X=X, W=W).cause == f"a copied row: row {copy} is row {source} of X"


@given(SEEDS, st.sampled_from(["column", "row", "ragged", "expression", "shape", "words"]))
def test_a_shape_that_does_not_fit(seed: int, how: str) -> None:
    random = np.random.default_rng(seed)
    X, W = matrix(random, 2, 3), matrix(random, 3, 4)
    right = X @ W
    expression, stated = {
        "column": ("X @ W", toml(right[:, :3])),
        "row": ("X @ W", toml(np.vstack([right, right]))),
        "ragged": ("X @ W", toml([right[0], right[1][:2]])),
        "expression": ("W @ X", toml(right)),
        "shape": ("shape(X @ W)", "[2, 3]"),
        "words": ("X @ W", '"no idea"'),
    }[how]
    step = checked(expression, stated, X=X, W=W)
    assert step.verdict == "wrong"
    assert step.cause is not None
    expected = {"words": "no numbers are stated", "expression": "the order of a product: X @ W"}
    assert step.cause.startswith(expected.get(how, "a shape that does not fit"))


@given(SEEDS)
def test_no_position_adds_two_numbers_off_the_circle(seed: int) -> None:
    random = np.random.default_rng(seed)
    embedding = matrix(random, 4)
    turn = random.uniform(0, 6)
    stated = embedding + 1.5 * np.array([np.sin(turn), np.cos(turn), 0, 1])
    cause = checked("x + sinusoidal(9, 4)[3]", toml(stated, 3), x=embedding).cause
    assert cause is not None
    assert cause.startswith("no position adds this")


@given(SEEDS)
def test_no_cause_is_made_up(seed: int) -> None:
    random = np.random.default_rng(seed)
    X, W = matrix(random, 2, 3), matrix(random, 3, 4)
    stated = X @ W + 0.5
    step = checked("X @ W + b", toml(stated + random.uniform(0.5, 3, stated.shape), 4), X=X, W=W, b=0.5)
    assert step.verdict == "wrong"
    assert step.cause is None


def test_a_slip_on_top_of_a_mistake_is_still_named() -> None:
    text = """
    [inputs]
    Q = [[1.0, 2.0], [0.5, 1.5]]
    K = [[0.3, 0.2], [0.7, 0.9]]
    [[steps]]
    name = "scores"
    expression = "Q @ K.T"
    stated = [[0.90, 2.50], [0.45, 1.70]]
    [[steps]]
    name = "scaled"
    expression = "scores / sqrt(2)"
    stated = [[0.90, 2.50], [0.45, 1.70]]
    """
    scores, scaled = check(read_text(text, "test")).steps
    assert (scores.verdict, scores.elements) == ("wrong", [["wrong", "right"], ["right", "right"]])
    assert scaled.cause == "a missing scale: not divided by sqrt(2)"
