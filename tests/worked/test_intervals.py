"""Bounds hold for whatever lies inside those of the operands, and are not much wider than that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pellucid.worked.evaluator import evaluate, parse
from pellucid.worked.functions import FUNCTIONS
from pellucid.worked.intervals.arithmetic import ANY_WORD, Interval
from pellucid.worked.intervals.evaluation import evaluate_interval
from pellucid.worked.intervals.functions import BOUNDS, BY_VALUE, RISING

pytestmark = pytest.mark.filterwarnings("error")

# Over x (3 × 4, any sign), p (3 × 4, positive), v (4, any sign) and the words w.
EXPRESSIONS = [
    "x + p", "x - v", "x * p", "x * v", "x / p", "p ** 2", "x ** 2", "x ** 3", "p ** v", "2 ** x", "p ** -1.5",
    "x // p", "x % 2", "x < v", "x <= v", "x > v", "x >= v", "x == x[0]", "x != v", "-x", "x.T", "[v, v]", "x @ v",
    "x @ x.T", "x @ p.T / sqrt(4)", "x[1]", "x[:, None]", "x[0, 1:]", "x[argmax(v) % 3]", "x[argsort(v)[:2] % 3]",
    "sqrt(p)", "exp(x)", "log(p)", "sin(3 * x)", "cos(3 * x)", "tanh(x)", "sigmoid(x)", "abs(x)", "relu(x)", "gelu(x)",
    "silu(x)", "floor(3 * x)", "sum(x, axis=1)", "prod(x)", "prod(x, axis=0, keepdims=True)", "prod(p)", "mean(x)",
    "var(x)", "std(x, axis=1, keepdims=True)", "min(x, axis=0)", "max(x)", "minimum(x, v)", "maximum(x, p)",
    "sort(x)", "top_k(x, 2)", "cumsum(x)", "argmax(x)", "argmin(x, axis=0)", "argsort(x)", "top_k_places(x, 2)",
    "softmax(x)", "softmax(x, axis=0)", "log_softmax(x)", "layer_norm(x)", "layer_norm(x, v, p[0])", "rms_norm(x, v)",
    "rotate(x, [0, 1, 2])", "where(x, p, v)", "where(x > 0, p, v)", "concat(x, p)", "mask_future(x[:, :3])",
    "attention(x, p, x)", "attention(x, p, x, causal(3))", "attention(x, p, x, x[:, :3] > 0)",
    "(x - mean(x)) / std(x)", "exp(x) / sum(exp(x), axis=1, keepdims=True)", "zeros(3) + x[:, 0]",
    "one_hot([0, 1], 2) @ x[:2]", "arange(4) * x", "ones(3, 4) + shape(x)[0] * x", "sinusoidal(3, 4) + x",
    "w[argmax(v)]", "join([w[argmax(v)], w[0]])", "w[argmax(v)] == w", "w[argsort(v)[:2]]",
]  # fmt: skip
WORDS = np.array(["a", "b", "c", "d"])


def boxes(seed: int, radius: float) -> dict[str, Interval]:
    random = np.random.default_rng(seed)
    middles = {"x": random.normal(size=(3, 4)), "p": random.uniform(0.5, 2, (3, 4)), "v": random.normal(size=4)}
    found = {"w": Interval.exactly(WORDS)}
    for name, middle in middles.items():
        spread = random.uniform(0, radius, middle.shape) * (random.random(middle.shape) < 0.8)
        found[name] = Interval(middle + spread * random.uniform(-1, 1, middle.shape), middle - spread, middle + spread)
    return found


def inside(box: Interval, random: np.random.Generator) -> Any:
    """Some point of a box, often one of its corners."""
    if box.value.dtype.kind == "U":
        return box.value
    share = random.choice([0.0, 1.0, 0.5], box.value.shape) if random.random() < 0.7 else random.random(box.value.shape)
    return box.low + share * (box.high - box.low)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_bounds_hold(expression: str) -> None:
    tree = parse(expression)
    for seed in range(12):
        box = boxes(seed, [0.01, 0.3, 1.5][seed % 3])
        box["p"] = Interval(*(np.maximum(end, 0.05) for end in (box["p"].value, box["p"].low, box["p"].high)))
        found = evaluate_interval(tree, box)
        random = np.random.default_rng(seed)
        for _ in range(60):
            result = evaluate(tree, {name: inside(each, random) for name, each in box.items()})
            if result.dtype.kind == "U":
                assert ((result == found.low) | (found.low == ANY_WORD)).all()
                continue
            slack = 1e-9 * (1 + np.abs(np.where(np.isfinite(result), result, 0)))
            sound = (result >= found.low - slack) & (result <= found.high + slack)
            assert (sound | np.isnan(result)).all(), (seed, result, found)


TIGHT = [each for each in EXPRESSIONS if not any(c in each for c in "<>=%w") and "arg" not in each and "//" not in each]
TIGHT = [each for each in TIGHT if each not in ("floor(3 * x)", "top_k_places(x, 2)", "where(x, p, v)")]
# Here a number stands at several places, and bounds may be wider.
LOOSE = ("var", "std", "layer_norm", "rms_norm", "attention", "(x - mean(x))", "exp(x) / sum")


@pytest.mark.parametrize("expression", TIGHT)
def test_bounds_are_near_what_can_be_reached(expression: str) -> None:
    """Small radii: what is reached is given by the slopes, found by differences."""
    tree, tiny = parse(expression), 1e-6
    times = 4 if expression.startswith(LOOSE) else 1.1
    for seed in range(3):
        box = boxes(seed, 1e-4)
        found = evaluate_interval(tree, box)
        point = {name: each.value for name, each in box.items()}
        reached = np.zeros(found.value.shape)
        for name in ("x", "p", "v"):
            for at in np.ndindex(box[name].value.shape):
                moved = np.array(point[name])
                moved[at] += tiny
                with np.errstate(invalid="ignore"):
                    slope = np.abs(evaluate(tree, {**point, name: moved}) - found.value) / tiny
                reached += np.where(np.isfinite(slope), slope, 0.0) * (box[name].high - box[name].low)[at]
        with np.errstate(invalid="ignore"):
            width = found.high - found.low
        finite = np.isfinite(width)
        assert width[finite].sum() <= times * reached[finite].sum() + 1e-6, (seed, width, reached)


def test_every_function_has_bounds() -> None:
    assert FUNCTIONS.keys() == RISING | BY_VALUE | BOUNDS.keys()
    assert not RISING & BOUNDS.keys()
    called = {name for name in FUNCTIONS if any(f"{name}(" in expression for expression in EXPRESSIONS)}
    assert called == set(FUNCTIONS)


def test_what_is_exact_stays_exact() -> None:
    exact = {name: Interval.exactly(box.value) for name, box in boxes(1, 0.1).items()}
    for expression in EXPRESSIONS:
        found = evaluate_interval(parse(expression), exact)
        assert found.exact
        plain = evaluate(parse(expression), {name: each.value for name, each in exact.items()})
        np.testing.assert_array_equal(found.value, plain)


def test_a_word_that_depends_on_digits_not_written_may_be_any() -> None:
    v = np.array([0.5, 0.51, 0.1, 0.0])
    box = {"w": Interval.exactly(WORDS), "v": Interval(v, v - 0.02, v + 0.02)}
    assert evaluate_interval(parse("w[argmax(v)]"), box).low == ANY_WORD
    box["v"] = Interval(v, v - 0.001, v + 0.001)
    assert evaluate_interval(parse("w[argmax(v)]"), box).low == "b"
