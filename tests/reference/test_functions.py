"""The formulas, by hand and by their properties."""

from __future__ import annotations

from math import exp, log
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from pellucid import reference
from pellucid.reference.functions import EPSILON, join_heads, split_heads

NUMBERS = st.floats(-50, 50)
Layout = Literal["interleaved", "halves"]
LAYOUTS = pytest.mark.parametrize("layout", ["interleaved", "halves"])


# --- softmax ------------------------------------------------------------------------------------------------------


def test_softmax_by_hand() -> None:
    np.testing.assert_allclose(reference.softmax([2, 1, 0]), np.array([exp(2), exp(1), 1]) / (exp(2) + exp(1) + 1))
    np.testing.assert_allclose(reference.softmax([2, 1, 0]), [0.665, 0.245, 0.090], atol=5e-4)
    np.testing.assert_allclose(reference.softmax([[0.0, log(3)], [0.0, 0.0]], axis=0), [[0.5, 0.75], [0.5, 0.25]])


@given(arrays(np.float64, array_shapes(max_dims=3), elements=st.floats(-1e300, 1e300)))
def test_softmax_rows_are_distributions_however_large_the_scores(scores: np.ndarray) -> None:
    weights = reference.softmax(scores)
    assert ((weights >= 0) & (weights <= 1)).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
    highest = np.take_along_axis(weights, scores.argmax(axis=-1, keepdims=True), axis=-1)
    assert (weights <= highest).all()


@given(arrays(np.float64, (3, 5), elements=NUMBERS), NUMBERS)
def test_softmax_does_not_see_what_is_added_to_a_whole_row(scores: np.ndarray, shift: float) -> None:
    np.testing.assert_allclose(reference.softmax(scores + shift), reference.softmax(scores), rtol=1e-10)


@given(arrays(np.float64, (3, 5), elements=NUMBERS))
def test_log_softmax_is_the_logarithm(scores: np.ndarray) -> None:
    np.testing.assert_allclose(np.exp(reference.log_softmax(scores)), reference.softmax(scores), rtol=1e-12)


def test_a_row_of_minus_infinity_gives_zeros() -> None:
    scores = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])
    with np.errstate(all="raise"):
        assert reference.softmax(scores).tolist() == [[0, 0], [1, 0]]


# --- attention ----------------------------------------------------------------------------------------------------


def test_attention_worked_by_hand() -> None:
    Q, K, V = [[[[0.1, 0.4], [0.3, 0.7]]]], [[[[0.2, 0.5], [0.6, 0.3]]]], [[[[1.2, 0.9], [0.8, 1.1]]]]
    np.testing.assert_allclose(
        reference.attention_scores(Q, K)[0, 0] * np.sqrt(2), [[0.22, 0.18], [0.41, 0.39]], atol=1e-15
    )
    output, weights = reference.attention(Q, K, V)
    first = 1 / (1 + exp((0.18 - 0.22) / np.sqrt(2)))  # a softmax of two is a sigmoid of their difference
    second = 1 / (1 + exp((0.39 - 0.41) / np.sqrt(2)))
    np.testing.assert_allclose(weights[0, 0], [[first, 1 - first], [second, 1 - second]])
    np.testing.assert_allclose(output[0, 0], [[0.8 + 0.4 * w, 1.1 - 0.2 * w] for w in (first, second)])


def test_large_scores_saturate_to_exact_zero_and_one() -> None:
    X = np.array([[6, 1, 4, 4], [8, 4, 6, 3]])
    W_Q = np.array([[1, 4, 3, 1], [1, 1, 3, 2], [3, 4, 4, 3], [1, 2, 2, 2]])
    W_K = np.array([[2, 1, 2, 1], [4, 1, 4, 2], [3, 4, 4, 1], [3, 4, 1, 2]])
    W_V = np.array([[4, 2, 4, 4], [3, 4, 1, 2], [2, 2, 4, 1], [4, 3, 1, 4]])
    Q, K, V = ((X @ W)[None, None] for W in (W_Q, W_K, W_V))
    assert reference.attention_scores(Q, K)[0, 0, 0].tolist() == [2505.5, 3574.0]
    output, weights = reference.attention(Q, K, V)
    assert weights[0, 0].tolist() == [[0, 1], [0, 1]]
    assert output[0, 0].tolist() == [[68, 53, 63, 58], [68, 53, 63, 58]]


def test_the_causal_mask() -> None:
    assert reference.causal(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    rng = np.random.default_rng(1)
    Q, K, V = rng.normal(size=(3, 2, 2, 4, 3))
    _, weights = reference.attention(Q, K, V, reference.causal(4))
    assert (np.triu(weights, 1) == 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
    for seen in range(1, 5):  # masking is the same as not having the later tokens at all
        _, short = reference.attention(Q[:, :, :seen], K[:, :, :seen], V[:, :, :seen], reference.causal(seen))
        np.testing.assert_allclose(weights[:, :, :seen, :seen], short)


def test_heads_split_and_join() -> None:
    x = np.arange(2 * 3 * 8.0).reshape(2, 3, 8)  # (batch, length, d_model)
    heads = split_heads(x, 4)  # (batch, heads, length, size)
    assert heads.shape == (2, 4, 3, 2)
    assert heads[1, 2, 0].tolist() == x[1, 0, 4:6].tolist()
    assert (join_heads(heads) == x).all()


# --- positions ----------------------------------------------------------------------------------------------------


def test_sinusoids_of_four_dimensions_by_hand() -> None:
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [0.8415, 0.5403, 0.0100, 1.0000],
        [0.9093, -0.4161, 0.0200, 0.9998],
        [0.1411, -0.9900, 0.0300, 0.9996],
    ]
    table = reference.sinusoidal(4, 4)
    np.testing.assert_allclose(table, expected, atol=5e-5)
    np.testing.assert_array_equal(reference.sinusoidal(4, 4, "halves"), table[:, [0, 2, 1, 3]])


def test_sinusoids_at_a_distance_differ_by_one_rotation() -> None:
    """What the paper chose them for: position p + k is a linear map of position p, the same for every p."""
    table = reference.sinusoidal(60, 8)
    shift, *_ = np.linalg.lstsq(table[:40], table[7:47], rcond=None)
    np.testing.assert_allclose(table[:53] @ shift, table[7:], atol=1e-9)
    np.testing.assert_allclose(shift @ shift.T, np.eye(8), atol=1e-9)


@LAYOUTS
@given(x=arrays(np.float64, (3, 6), elements=NUMBERS), start=st.integers(0, 5000))
def test_rotation_keeps_lengths(layout: Layout, x: np.ndarray, start: int) -> None:
    turned = reference.rotate(x, np.arange(start, start + 3), layout)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-12)


@LAYOUTS
@given(
    x=arrays(np.float64, (2, 6), elements=NUMBERS),
    query=st.integers(0, 500),
    key=st.integers(0, 500),
    shift=st.integers(0, 500),
)
def test_rotated_scores_see_relative_position_alone(
    layout: Layout, x: np.ndarray, query: int, key: int, shift: int
) -> None:
    def score(query_position: int, key_position: int) -> float:
        q, k = reference.rotate(x, [query_position, key_position], layout)
        return float(q @ k)

    assert score(query + shift, key + shift) == pytest.approx(score(query, key), rel=1e-9, abs=1e-6)


@LAYOUTS
def test_position_0_is_not_turned_and_others_are(layout: Layout) -> None:
    x = np.ones((2, 4))
    turned = reference.rotate(x, [0, 1], layout)
    assert turned[0].tolist() == [1, 1, 1, 1]
    pair = [0, 1] if layout == "interleaved" else [0, 2]
    np.testing.assert_allclose(turned[1, pair], [np.cos(1) - np.sin(1), np.sin(1) + np.cos(1)])


# --- norms --------------------------------------------------------------------------------------------------------


def test_layer_norm_by_hand() -> None:
    np.testing.assert_allclose(reference.layer_norm([3, 7], epsilon=0), [-1, 1])
    np.testing.assert_allclose(reference.layer_norm([3, 7], [2, 3], [10, 20], epsilon=0), [8, 23])


def test_rms_norm_by_hand() -> None:
    np.testing.assert_allclose(reference.rms_norm([1, 7], epsilon=0), [0.2, 1.4])  # sqrt((1 + 49) / 2) = 5
    np.testing.assert_allclose(reference.rms_norm([1, 7], [5, 10], epsilon=0), [1, 14])


def test_batch_norm_by_hand() -> None:
    y = reference.batch_norm([[5.0, 0.0]], mean=[1, 2], variance=[4, 1], gamma=[3, 1], beta=[0, 7], epsilon=0)
    np.testing.assert_allclose(y, [[6, 5]])


@given(arrays(np.float64, (4, 8), elements=NUMBERS))
def test_moments_of_the_norms(x: np.ndarray) -> None:
    normed, variance = reference.layer_norm(x), x.var(axis=-1)
    np.testing.assert_allclose(normed.mean(axis=-1), 0, atol=1e-9)
    np.testing.assert_allclose(normed.var(axis=-1), variance / (variance + EPSILON), atol=1e-9)
    square = (x**2).mean(axis=-1)
    np.testing.assert_allclose((reference.rms_norm(x) ** 2).mean(axis=-1), square / (square + EPSILON), atol=1e-9)


@given(arrays(np.float64, (2, 8), elements=st.integers(-50, 50)), st.integers(-20, 20), st.integers(1, 20))
def test_layer_norm_forgets_shift_and_scale_and_rms_norm_scale_alone(x: np.ndarray, shift: int, scale: int) -> None:
    assume((x.std(axis=-1) > 0).all())
    moved, grown = x * scale + shift, x * scale
    np.testing.assert_allclose(
        reference.layer_norm(moved, epsilon=0), reference.layer_norm(x, epsilon=0), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(reference.rms_norm(grown, epsilon=0), reference.rms_norm(x, epsilon=0), rtol=1e-12)


# --- activations and loss -----------------------------------------------------------------------------------------


def test_activations_by_hand() -> None:
    np.testing.assert_array_equal(reference.relu([-2.0, 0.0, 3.0]), [0, 0, 3])
    np.testing.assert_allclose(reference.silu([log(3), -log(3), 0]), [0.75 * log(3), -0.25 * log(3), 0])
    np.testing.assert_allclose(reference.gelu([0.0, 1.0, -1.0]), [0, 0.8413447460685429, -0.15865525393145707])
    with np.errstate(over="raise"):
        np.testing.assert_allclose(reference.silu([-1e4, 1e4]), [0, 1e4])
        np.testing.assert_allclose(reference.gelu([-1e4, 1e4]), [0, 1e4])


def test_cross_entropy_by_hand() -> None:
    # Probabilities 1/2, 1/4, 1/4; one real target of two.
    logits = np.log([[[2, 1, 1], [2, 1, 1]]])
    for real, expected in (([[True, False]], (log(4), 1)), ([[True, True]], (log(4) + log(2), 2))):
        assert reference.cross_entropy(logits, [[1, 0]], real) == pytest.approx(expected)
    # Smoothed by 0.3: 0.7 + 0.1 on the target, 0.1 on each of the others.
    smoothed, _ = reference.cross_entropy(logits, [[0, 0]], [[True, False]], label_smoothing=0.3)
    assert smoothed == pytest.approx(0.8 * log(2) + 0.1 * log(4) + 0.1 * log(4))
