"""Bounds of the functions that an expression may call, where at least one argument is not exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pellucid.worked.functions import FUNCTIONS, Value, axis_of
from pellucid.worked.intervals.arithmetic import ANY_WORD, Bounds, Interval, add, around, divide, matmul, multiply

LOWEST_OF_GELU, LOWEST_OF_SILU = -0.7517915246935645, -1.2784645427610738  # where these two stop falling

MOST_FACTORS = 1000  # multiplied one by one

# No argument can lower the result by rising: the bounds are what the function gives for the bounds.
RISING = frozenset(("exp", "tanh", "sigmoid", "relu", "floor", "sum", "mean", "min", "max", "minimum", "maximum"))
RISING |= {"sort", "top_k", "cumsum", "concat", "mask_future"}
# Only whole numbers that no rounding touches go in, or only shapes matter.
BY_VALUE = frozenset(("zeros", "ones", "causal", "sinusoidal", "shape", "arange", "one_hot"))


def _axis(x: Interval, axis: Interval | None) -> int:
    return axis_of(x.value, None if axis is None else axis.value)


def _rising_from_zero(name: str) -> Callable[[Interval], Bounds]:
    """Of numbers around 0, only those above it have a root or a logarithm."""

    def bounds(x: Interval) -> Bounds:
        low = np.where(x.high >= 0, np.maximum(x.low, 0.0), x.low)
        return FUNCTIONS[name](low), FUNCTIONS[name](x.high)

    return bounds


def _falling_then_rising(name: str, lowest: float) -> Callable[[Interval], Bounds]:
    def bounds(x: Interval) -> Bounds:
        low, high = FUNCTIONS[name](x.low), FUNCTIONS[name](x.high)
        inside = (x.low < lowest) & (x.high > lowest)
        least = FUNCTIONS[name](np.asarray(lowest))
        return np.where(inside, least, np.minimum(low, high)), np.maximum(low, high)

    return bounds


def _wave(name: str, peak: float) -> Callable[[Interval], Bounds]:
    """Sine or cosine: 1 at `peak` and every full turn from it, -1 half a turn later."""

    def contains(x: Interval, angle: float) -> Value:
        turn = 2 * np.pi
        return np.asarray(np.ceil((x.low - angle) / turn) <= np.floor((x.high - angle) / turn))

    def bounds(x: Interval) -> Bounds:
        low, high = FUNCTIONS[name](x.low), FUNCTIONS[name](x.high)
        least, most = np.minimum(low, high), np.maximum(low, high)
        return np.where(contains(x, peak + np.pi), -1.0, least), np.where(contains(x, peak), 1.0, most)

    return bounds


def product(x: Interval, axis: Interval | None = None, keepdims: Interval | None = None) -> Bounds:
    options = (None if axis is None else axis.value, None if keepdims is None else keepdims.value)
    if (x.low >= 0).all():
        return FUNCTIONS["prod"](x.low, *options), FUNCTIONS["prod"](x.high, *options)
    if axis is None:
        low, high = x.low.reshape(-1), x.high.reshape(-1)
    else:
        low, high = (np.moveaxis(bound, int(axis.value), 0) for bound in (x.low, x.high))
    if len(low) > MOST_FACTORS:
        most = FUNCTIONS["prod"](np.maximum(np.abs(x.low), np.abs(x.high)), *options)
        return -most, most
    shape = FUNCTIONS["prod"](x.value, *options).shape
    found = Interval.exactly(np.ones(low.shape[1:]))
    for factor in zip(low, high, strict=True):
        found = Interval(found.value, *multiply(found, Interval(factor[0], *factor)))
    return found.low.reshape(shape), found.high.reshape(shape)


def deviation(x: Interval, axis: Interval | None = None, keepdims: Interval | None = None) -> Bounds:
    """A standard deviation moves by no more than the root mean square of what its numbers move by."""
    options = (None if axis is None else axis.value, None if keepdims is None else keepdims.value)
    low, high = around(FUNCTIONS["std"](x.middle, *options), np.sqrt(FUNCTIONS["mean"](x.radius**2, *options)))
    return np.maximum(low, 0.0), high


def variance(x: Interval, axis: Interval | None = None, keepdims: Interval | None = None) -> Bounds:
    low, high = deviation(x, axis, keepdims)
    return low**2, high**2


def softmax(x: Interval, axis: Interval | None = None) -> Bounds:
    """A weight is least when its own score is lowest and all others are highest."""
    along = _axis(x, axis)
    top = x.high.max(axis=along, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    low, high = np.exp(x.low - shift), np.exp(x.high - shift)
    others_high = np.maximum(high.sum(axis=along, keepdims=True) - high, 0.0)
    others_low = np.maximum(low.sum(axis=along, keepdims=True) - low, 0.0)
    least, most = low / (low + others_high), high / (high + others_low)
    return np.where(np.isnan(least), 0.0, least), np.where(np.isnan(most), 1.0, most)


def log_softmax(x: Interval, axis: Interval | None = None) -> Bounds:
    low, high = softmax(x, axis)
    return np.log(low), np.log(high)


def _normalise(centred: Interval, spread: Bounds, most: float, gamma: Interval | None) -> Interval:
    normalised = Interval(centred.value, *divide(centred, Interval(spread[0], *spread)))
    normalised = Interval(centred.value, np.clip(normalised.low, -most, most), np.clip(normalised.high, -most, most))
    return normalised if gamma is None else Interval(centred.value, *multiply(normalised, gamma))


def layer_norm(x: Interval, gamma: Interval | None = None, beta: Interval | None = None) -> Bounds:
    count = x.value.shape[-1]
    middle, radius = x.middle, x.radius
    shared = radius.mean(axis=-1, keepdims=True)
    low, high = around(middle - middle.mean(axis=-1, keepdims=True), radius * abs(1 - 2 / count) + shared)
    last, keep = Interval.exactly(np.asarray(-1.0)), Interval.exactly(np.asarray(1.0))
    scaled = _normalise(Interval(low, low, high), deviation(x, last, keep), np.sqrt(max(count - 1, 1)), gamma)
    return (scaled.low, scaled.high) if beta is None else add(scaled, beta)


def rms_norm(x: Interval, gamma: Interval | None = None) -> Bounds:
    middle, radius = (np.sqrt((part**2).mean(axis=-1, keepdims=True)) for part in (x.middle, x.radius))
    low, high = around(middle, radius)
    scaled = _normalise(x, (np.maximum(low, 0.0), high), np.sqrt(x.value.shape[-1]), gamma)
    return scaled.low, scaled.high


def rotate(x: Interval, positions: Interval) -> Bounds:
    """A turn is linear: the radius of each number is that of the two it is made of, by the size of sine and cosine."""
    middle = FUNCTIONS["rotate"](x.middle, positions.value)
    first, second = np.zeros_like(x.radius), np.zeros_like(x.radius)
    first[..., 0::2], second[..., 1::2] = x.radius[..., 0::2], x.radius[..., 1::2]
    radius = sum(np.abs(FUNCTIONS["rotate"](part, positions.value)) for part in (first, second))
    return around(middle, np.asarray(radius))


def where(condition: Interval, yes: Interval, no: Interval) -> Bounds:
    certain_yes = (condition.low > 0) | (condition.high < 0)
    certain_no = (condition.low == 0) & (condition.high == 0)
    low = np.where(certain_yes, yes.low, np.where(certain_no, no.low, np.minimum(yes.low, no.low)))
    high = np.where(certain_yes, yes.high, np.where(certain_no, no.high, np.maximum(yes.high, no.high)))
    return low, high


def attention(Q: Interval, K: Interval, V: Interval, keep: Interval | None = None) -> Bounds:
    transposed = Interval(K.value.T, K.low.T, K.high.T)
    low, high = (bound / np.sqrt(Q.value.shape[1]) for bound in matmul(Q, transposed))
    if keep is not None:
        low, high = where(keep, Interval(low, low, high), Interval.exactly(np.full_like(low, -np.inf)))
    low, high = softmax(Interval(low, low, high))
    if keep is None:
        return matmul(Interval(low, low, high, shares=True), V)
    # A row that sees nothing weighs nothing.
    low, high = (np.where(keep.high.any(axis=1, keepdims=True), bound, 0.0) for bound in (low, high))
    return matmul(Interval(low, low, high), V)


def argmax(x: Interval, axis: Interval | None = None) -> Bounds:
    """The first and the last place at which the largest number may stand."""
    along = _axis(x, axis)
    possible = x.high >= x.low.max(axis=along, keepdims=True)
    last = x.value.shape[along] - 1 - np.flip(possible, axis=along).argmax(axis=along)
    return possible.argmax(axis=along).astype(np.float64), last.astype(np.float64)


def argmin(x: Interval, axis: Interval | None = None) -> Bounds:
    return argmax(Interval(-x.value, -x.high, -x.low), axis)


def argsort(x: Interval, axis: Interval | None = None) -> Bounds:
    """Which places may come at each rank. Only neighbours that cannot be told apart leave a choice."""
    along = _axis(x, axis)
    low, high = (np.moveaxis(bound, along, -1) for bound in (x.low, x.high))
    below = (high[..., None, :] < low[..., :, None]).sum(axis=-1)  # how many are certainly smaller
    above = (low[..., None, :] > high[..., :, None]).sum(axis=-1)
    ranks = np.arange(low.shape[-1])
    # (..., rank, place)
    possible = (below[..., None, :] <= ranks[:, None]) & (ranks[:, None] <= ranks[-1] - above[..., None, :])
    last = ranks[-1] - np.flip(possible, axis=-1).argmax(axis=-1)
    first, last = (np.moveaxis(place, -1, along).astype(np.float64) for place in (possible.argmax(axis=-1), last))
    return first, last


def top_k_places(x: Interval, k: Interval) -> Bounds:
    low, high = argsort(Interval(-x.value, -x.high, -x.low))
    count = int(k.value)
    return low[..., :count], high[..., :count]


def absolute(x: Interval) -> Bounds:
    inside = (x.low < 0) & (x.high > 0)
    low, high = np.abs(x.low), np.abs(x.high)
    return np.where(inside, 0.0, np.minimum(low, high)), np.maximum(low, high)


def join(words: Interval) -> Bounds:
    known = FUNCTIONS["join"](words.value) if not (words.low == ANY_WORD).any() else np.asarray(ANY_WORD)
    return known, known


BOUNDS: dict[str, Callable[..., Bounds]] = {
    "sqrt": _rising_from_zero("sqrt"),
    "log": _rising_from_zero("log"),
    "sin": _wave("sin", np.pi / 2),
    "cos": _wave("cos", 0.0),
    "abs": absolute,
    "gelu": _falling_then_rising("gelu", LOWEST_OF_GELU),
    "silu": _falling_then_rising("silu", LOWEST_OF_SILU),
    "prod": product,
    "var": variance,
    "std": deviation,
    **{f.__name__: f for f in (softmax, log_softmax, layer_norm, rms_norm, rotate, where, attention)},
    **{f.__name__: f for f in (argmax, argmin, argsort, top_k_places, join)},
}
