"""The formulas of "Attention Is All You Need" and of its later variants, one small function each, in NumPy float64.

Shapes use one vocabulary: (batch, heads, query, key) for scores and weights, (batch, length, d_model) for tokens.
Masks are boolean: `keep` is True where a query may attend to a key, `real` where a token is not padding.
"""

from __future__ import annotations

from math import erf
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

EPSILON = 1e-5  # added to variances, so that a constant vector can be normalised


def softmax(x: ArrayLike, axis: int = -1) -> Array:
    """exp(x) / sum exp(x). A slice that is -inf throughout has no distribution: it gives zeros."""
    x = np.asarray(x, np.float64)
    highest = x.max(axis=axis, keepdims=True, initial=-np.inf)
    exponentials = np.exp(x - np.where(np.isfinite(highest), highest, 0.0))  # the maximum first: exp never overflows
    total = exponentials.sum(axis=axis, keepdims=True)
    probabilities: Array = np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total > 0)
    return probabilities


def log_softmax(x: ArrayLike, axis: int = -1) -> Array:
    """log(softmax(x)), without the loss of digits where the probability is tiny."""
    x = np.asarray(x, np.float64)
    shifted: Array = x - x.max(axis=axis, keepdims=True)
    log_total: Array = np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return shifted - log_total


def attention_scores(q: ArrayLike, k: ArrayLike, keep: ArrayLike | None = None) -> Array:
    """Q K^T / sqrt(d_k), and -inf where a query may not attend to a key: (batch, heads, query, key)."""
    q, k = np.asarray(q, np.float64), np.asarray(k, np.float64)
    return masked(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), keep)


def masked(scores: Array, keep: ArrayLike | None) -> Array:
    """-inf where a query may not attend to a key."""
    return scores if keep is None else np.where(keep, scores, -np.inf)


def attention(q: ArrayLike, k: ArrayLike, v: ArrayLike, keep: ArrayLike | None = None) -> tuple[Array, Array]:
    """softmax(Q K^T / sqrt(d_k)) V and the weights.

    q, k, v are (batch, heads, length, head size); `keep` broadcasts to (batch, heads, query, key). A query with a
    visible key has weights that sum to 1; one with none has weights, and so output, of zero.
    """
    weights = softmax(attention_scores(q, k, keep))
    return weights @ np.asarray(v, np.float64), weights


def causal(length: int) -> Mask:
    """Which keys each query may see, when none may see the future: (query, key)."""
    return np.tril(np.ones((length, length), np.bool_))


def split_heads(x: Array, heads: int) -> Array:
    """(batch, length, heads * size) -> (batch, heads, length, size)."""
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)


def join_heads(x: Array) -> Array:
    """(batch, heads, length, size) -> (batch, length, heads * size)."""
    batch, heads, length, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * size)


def linear(x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None) -> Array:
    """x W^T + b, the weight stored (out, in)."""
    y: Array = np.asarray(x, np.float64) @ np.asarray(weight, np.float64).T
    return y if bias is None else y + np.asarray(bias, np.float64)


def angles(positions: ArrayLike, size: int) -> Array:
    """position / 10000^(2i / size) for every pair i of dimensions: (length, size / 2)."""
    frequency = 10000.0 ** (-np.arange(0, size, 2) / size)
    return np.asarray(positions, np.float64)[:, None] * frequency


def sinusoidal(length: int, d_model: int, layout: Literal["interleaved", "halves"] = "interleaved") -> Array:
    """The paper's positions, (length, d_model): sine on even, cosine on odd dimensions; or sines, then cosines."""
    angle = angles(np.arange(length), d_model)
    if layout == "halves":
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)
    # (length, d_model / 2, 2) -> (length, d_model)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def rotate(x: ArrayLike, positions: ArrayLike, layout: Literal["interleaved", "halves"] = "interleaved") -> Array:
    """Rotary positions: turn each pair of features by the angle of its position. x is (..., length, head size)."""
    x = np.asarray(x, np.float64)
    return turn(x, angles(positions, x.shape[-1]), layout)


def turn(x: Array, angle: Array, layout: Literal["interleaved", "halves"]) -> Array:
    """Turn each pair of features of x, (..., length, head size), by its angle, (length, head size / 2)."""
    cos, sin = np.cos(angle), np.sin(angle)
    if layout == "halves":
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)
    first, second = x[..., 0::2], x[..., 1::2]
    # (..., length, head size / 2, 2) -> (..., length, head size)
    return np.stack([first * cos - second * sin, first * sin + second * cos], axis=-1).reshape(x.shape)


def layer_norm(x: ArrayLike, gamma: ArrayLike = 1.0, beta: ArrayLike = 0.0, epsilon: float = EPSILON) -> Array:
    """(x - mean) / sd * gamma + beta over one token's features; the variance divides by n."""
    x = np.asarray(x, np.float64)
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    normalised: Array = centred / np.sqrt(variance + epsilon)
    return normalised * np.asarray(gamma, np.float64) + np.asarray(beta, np.float64)


def rms_norm(x: ArrayLike, gamma: ArrayLike = 1.0, epsilon: float = EPSILON) -> Array:
    """x / sqrt(mean of squares) * gamma: no mean is subtracted, nothing is added."""
    x = np.asarray(x, np.float64)
    normalised: Array = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon)
    return normalised * np.asarray(gamma, np.float64)


def batch_norm(
    x: ArrayLike, mean: ArrayLike, variance: ArrayLike, gamma: ArrayLike, beta: ArrayLike, epsilon: float = EPSILON
) -> Array:
    """Each feature normalised by statistics gathered over many tokens, here the running ones of training."""
    x, mean, variance = (np.asarray(value, np.float64) for value in (x, mean, variance))
    return (x - mean) / np.sqrt(variance + epsilon) * np.asarray(gamma, np.float64) + np.asarray(beta, np.float64)


def relu(x: ArrayLike) -> Array:
    """max(0, x)."""
    return np.maximum(np.asarray(x, np.float64), 0.0)


def gelu(x: ArrayLike) -> Array:
    """x times the chance that a standard normal variable lies below x (exact, by the error function)."""
    x = np.asarray(x, np.float64)
    error_function = np.vectorize(erf, otypes=[np.float64])  # NumPy has none
    gelu: Array = x * 0.5 * (1.0 + error_function(x / np.sqrt(2.0)))
    return gelu


def silu(x: ArrayLike) -> Array:
    """x times its sigmoid."""
    x = np.asarray(x, np.float64)
    return x * 0.5 * (1.0 + np.tanh(0.5 * x))  # sigmoid(x) = (1 + tanh(x / 2)) / 2, which never overflows


def cross_entropy(
    logits: ArrayLike, targets: ArrayLike, real: ArrayLike, label_smoothing: float = 0.0
) -> tuple[float, int]:
    """-sum of log p(target) over real tokens, and their count.

    With label smoothing s the target distribution is 1 - s on the target plus s spread evenly over the vocabulary.
    logits (batch, target, vocabulary), targets and real (batch, target).
    """
    log_probs, targets, real = log_softmax(logits), np.asarray(targets), np.asarray(real, np.bool_)
    target_part = np.take_along_axis(log_probs, targets[..., None], axis=-1)[..., 0]  # (batch, target)
    losses = -(1.0 - label_smoothing) * target_part - label_smoothing * log_probs.mean(axis=-1)
    return float(losses[real].sum()), int(real.sum())
