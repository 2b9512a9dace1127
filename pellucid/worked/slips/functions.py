"""What only slips call: no expression that somebody writes knows these functions."""

from __future__ import annotations

import numpy as np

from pellucid import reference
from pellucid.worked.functions import FUNCTIONS, FitError, Function, Value, axis_of, rotate, sinusoidal, size


def _of_sample(name: str, power: float = 1.0) -> Function:
    """A mean over n elements, or a power of one, as if it were divided by n - 1."""

    def apply(x: Value, axis: Value | None = None, keepdims: Value | None = None) -> Value:
        count = np.float64(x.size if axis is None else x.shape[axis_of(x, axis)])
        return np.asarray(FUNCTIONS[name](x, axis, keepdims) * (count / (count - 1)) ** power)

    return apply


def _angles(length: Value, d_model: Value, exponents: Value, base: float = 10000.0) -> Value:
    """(length, d_model): the angle of each position in each dimension."""
    sinusoidal(length, d_model)  # raises if these are no sizes
    return np.asarray(np.arange(size(length))[:, None] / base**exponents)


def _waves(angles: Value) -> Value:
    """Sines on even, cosines on odd dimensions."""
    even = np.arange(angles.shape[1]) % 2 == 0
    return np.where(even, np.sin(angles), np.cos(angles))


def _pairs(d_model: Value) -> Value:
    """2i / d_model for each dimension."""
    dimension = np.arange(size(d_model))
    return np.asarray((dimension - dimension % 2) / size(d_model))


def one_frequency(length: Value, d_model: Value) -> Value:
    return _waves(_angles(length, d_model, 0 * _pairs(d_model)))


def cosine_first(length: Value, d_model: Value) -> Value:
    return _waves(np.pi / 2 - _angles(length, d_model, _pairs(d_model)))


def in_degrees(length: Value, d_model: Value) -> Value:
    return _waves(np.radians(_angles(length, d_model, _pairs(d_model))))


def half_exponent(length: Value, d_model: Value) -> Value:
    return _waves(_angles(length, d_model, _pairs(d_model) / 2))


def unpaired(length: Value, d_model: Value) -> Value:
    return _waves(_angles(length, d_model, np.arange(size(d_model)) / size(d_model)))


def base_1000(length: Value, d_model: Value) -> Value:
    return _waves(_angles(length, d_model, _pairs(d_model), 1000.0))


def halves(length: Value, d_model: Value) -> Value:
    sinusoidal(length, d_model)
    return reference.sinusoidal(size(length), size(d_model), "halves")


def rotate_halves(x: Value, positions: Value) -> Value:
    rotate(x, positions)
    return reference.rotate(x, positions, "halves")


def interleaved(x: Value, y: Value) -> Value:
    """The columns of two heads in turn."""
    if x.ndim == 0 or x.shape != y.shape:
        raise FitError("the heads differ in shape")
    return np.stack([x, y], axis=-1).reshape(*x.shape[:-1], 2 * x.shape[-1])


SLIPPED_FUNCTIONS: dict[str, Function] = {
    "sample_var": _of_sample("var"),
    "sample_std": _of_sample("std", 0.5),
    "sample_mean": _of_sample("mean"),
    **{f.__name__: f for f in (one_frequency, cosine_first, in_degrees, half_exponent, unpaired, base_1000, halves)},
    **{f.__name__: f for f in (rotate_halves, interleaved)},
}
