"""What an expression of a worked example may call. The formulas themselves are the reference's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid import reference

Value = NDArray[Any]  # numbers (float64) or words (unicode); a single one has the shape ()
Function = Callable[..., Value]

MOST_ELEMENTS = 300_000  # of one value; a 512 x 512 matrix fits


class FitError(Exception):
    """Values that do not go together: their shapes, their kinds, a place outside of them."""


class SizeError(Exception):
    """A value larger or a computation longer than a worked example has use for."""


def room(*sizes: int) -> None:
    """Refuse a value of these sizes before it is made, if it would be too large."""
    elements = math.prod(sizes)  # of Python's integers, which do not overflow
    if elements > MOST_ELEMENTS:
        raise SizeError(f"a value of {elements} numbers is too large (at most {MOST_ELEMENTS})")


def numbers(value: Value) -> Value:
    if value.dtype.kind != "f":
        raise FitError("words are not numbers")
    return value


def integer(value: Value) -> int:
    if value.shape != () or value.dtype.kind != "f" or not float(value).is_integer():
        raise FitError("a whole number is needed here")
    return int(value)


def size(value: Value) -> int:
    number = integer(value)
    if number < 1:
        raise FitError(f"{number} is not a size")
    return number


def common_shape(*values: Value) -> tuple[int, ...]:
    """The shape that values take side by side, element by element."""
    try:
        shape = np.broadcast_shapes(*(value.shape for value in values))
    except ValueError:
        raise FitError(" and ".join(str(value.shape) for value in values) + " do not fit together") from None
    room(*shape)
    return shape


def elementwise(function: Callable[[Value], Any]) -> Function:
    def apply(x: Value) -> Value:
        return np.asarray(function(numbers(x)))

    return apply


def reduction(function: Callable[..., Any]) -> Function:
    """A function over everything or along an axis: `sum(x)`, `sum(x, axis=0)`, `mean(x, axis=1, keepdims=True)`."""

    def apply(x: Value, axis: Value | None = None, keepdims: Value | None = None) -> Value:
        chosen = None if axis is None else axis_of(x, axis)
        not_empty(x)
        return np.asarray(function(numbers(x), axis=chosen, keepdims=keepdims is not None and bool(keepdims.any())))

    return apply


def along_axis(function: Callable[[Value, int], Any]) -> Function:
    """A function along the last axis or another one: `softmax(x)`, `argmax(x, axis=0)`."""

    def apply(x: Value, axis: Value | None = None) -> Value:
        return np.asarray(function(numbers(x), axis_of(x, axis)), np.float64)

    return apply


def not_empty(x: Value) -> None:
    if x.size == 0:
        raise FitError("there are no numbers here")


def axis_of(x: Value, axis: Value | None) -> int:
    """The axis that is asked for, else the last."""
    chosen = -1 if axis is None else integer(axis)
    not_empty(x)
    if not -x.ndim <= chosen < x.ndim:
        raise FitError(f"a value of shape {x.shape} has no axis {chosen}")
    return chosen


def layer_norm(x: Value, gamma: Value | None = None, beta: Value | None = None) -> Value:
    # No epsilon: the formula as it is worked by hand.
    return reference.layer_norm(x, *scales(x, gamma, beta), epsilon=0.0)


def rms_norm(x: Value, gamma: Value | None = None) -> Value:
    return reference.rms_norm(x, scales(x, gamma, None)[0], epsilon=0.0)


def scales(x: Value, gamma: Value | None, beta: Value | None) -> tuple[Value, Value]:
    axis_of(numbers(x), None)
    gamma = np.asarray(1.0) if gamma is None else numbers(gamma)
    beta = np.asarray(0.0) if beta is None else numbers(beta)
    if common_shape(x, gamma, beta) != x.shape:
        raise FitError(f"gamma {gamma.shape} and beta {beta.shape} do not fit {x.shape}")
    return gamma, beta


def sinusoidal(length: Value, d_model: Value) -> Value:
    rows, columns = size(length), size(d_model)
    room(rows, columns)
    if columns % 2:
        raise FitError(f"sinusoidal positions need an even d_model, not {columns}")
    return reference.sinusoidal(rows, columns)


def rotate(x: Value, positions: Value) -> Value:
    if x.ndim < 2 or positions.shape != x.shape[-2:-1] or x.shape[-1] % 2:
        raise FitError(f"rotate needs (length, even size) and (length,), not {x.shape} and {positions.shape}")
    return reference.rotate(numbers(x), numbers(positions))


def causal(length: Value) -> Value:
    """1 where a query may see a key, 0 in its future."""
    room(size(length), size(length))
    return reference.causal(size(length)).astype(np.float64)


def mask_future(scores: Value) -> Value:
    """-inf above the diagonal: no query sees a later key."""
    if scores.ndim < 2 or scores.shape[-1] != scores.shape[-2]:
        raise FitError(f"only a square matrix of scores has a future to mask, not {scores.shape}")
    return np.where(reference.causal(scores.shape[-1]), numbers(scores), -np.inf)


def attention(Q: Value, K: Value, V: Value, keep: Value | None = None) -> Value:
    """All of it at once, for one head: Q is (query, size), K and V are (key, size), keep (query, key) is 0 or 1."""
    if not Q.ndim == K.ndim == V.ndim == 2 or Q.shape[1] != K.shape[1] or len(K) != len(V):
        raise FitError(f"queries {Q.shape}, keys {K.shape} and values {V.shape} do not fit together")
    if keep is not None and keep.shape != (len(Q), len(K)):
        raise FitError(f"keep is {keep.shape}, the weights are {(len(Q), len(K))}")
    room(len(Q), len(K), Q.shape[1] + V.shape[1])  # the work, not the size
    mask = None if keep is None else numbers(keep) != 0
    return reference.attention(numbers(Q), numbers(K), numbers(V), mask)[0]


def where(condition: Value, yes: Value, no: Value) -> Value:
    common_shape(condition, yes, no)
    return np.where(numbers(condition) != 0, numbers(yes), numbers(no))


def concat(*parts: Value, axis: Value | None = None) -> Value:
    if not parts:
        raise FitError("there is nothing to put together")
    chosen = axis_of(parts[0], axis)
    room(sum(part.size for part in parts))
    try:
        return np.concatenate([numbers(part) for part in parts], axis=chosen)
    except ValueError:
        raise FitError(" and ".join(str(part.shape) for part in parts) + " do not fit together") from None


def stack(parts: list[Value]) -> Value:
    """A list written in an expression: `[x, y]`."""
    if not parts:
        raise FitError("an empty list has no numbers")
    if len({part.shape for part in parts}) > 1 or len({part.dtype.kind for part in parts}) > 1:
        raise FitError("the items of a list differ in shape or kind")
    room(sum(part.size for part in parts))
    return np.stack(parts)


def transposed(x: Value) -> Value:
    return np.swapaxes(x, -1, -2) if x.ndim > 1 else x


def minimum(x: Value, y: Value) -> Value:
    common_shape(x, y)
    return np.asarray(np.minimum(numbers(x), numbers(y)))


def maximum(x: Value, y: Value) -> Value:
    common_shape(x, y)
    return np.asarray(np.maximum(numbers(x), numbers(y)))


def top_k(x: Value, k: Value) -> Value:
    """The k largest numbers of each row, the largest first."""
    return -np.sort(-numbers(x), axis=axis_of(x, None))[..., : _at_most(k, x)]


def top_k_places(x: Value, k: Value) -> Value:
    """Where they stand in their row; of equal ones the first comes first."""
    places = np.argsort(-numbers(x), axis=axis_of(x, None), kind="stable")
    return places[..., : _at_most(k, x)].astype(np.float64)


def _at_most(k: Value, x: Value) -> int:
    if size(k) > x.shape[-1]:
        raise FitError(f"there are no {size(k)} numbers in a row of {x.shape[-1]}")
    return size(k)


def arange(stop: Value) -> Value:
    """0, 1, 2, … up to, but without, `stop`."""
    room(size(stop))
    return np.arange(size(stop), dtype=np.float64)


def one_hot(places: Value, count: Value) -> Value:
    """A row for each place: 1 there, 0 elsewhere."""
    room(places.size, size(count))
    return np.asarray(numbers(places)[..., None] == np.arange(size(count)), np.float64)


def full(number: float) -> Function:
    def apply(rows: Value, columns: Value | None = None) -> Value:
        shape = (size(rows),) if columns is None else (size(rows), size(columns))
        room(*shape)
        return np.full(shape, number)

    return apply


def join(words: Value) -> Value:
    if words.dtype.kind != "U" or words.ndim != 1:
        raise FitError("join needs a list of words")
    return np.asarray(" ".join(words.tolist()))


FUNCTIONS: dict[str, Function] = {
    **{name: elementwise(getattr(np, name)) for name in ("sqrt", "exp", "log", "sin", "cos", "tanh", "abs", "floor")},
    "sigmoid": elementwise(lambda x: 0.5 * (1.0 + np.tanh(0.5 * x))),
    "relu": elementwise(reference.relu),
    "gelu": elementwise(reference.gelu),
    "silu": elementwise(reference.silu),
    **{name: reduction(getattr(np, name)) for name in ("sum", "prod", "mean", "var", "std", "min", "max")},
    "argmax": along_axis(np.argmax),
    "argmin": along_axis(np.argmin),
    "argsort": along_axis(lambda x, axis: np.argsort(x, axis, kind="stable")),
    "sort": along_axis(np.sort),
    "cumsum": along_axis(np.cumsum),
    "softmax": along_axis(reference.softmax),
    "log_softmax": along_axis(reference.log_softmax),
    **{
        f.__name__: f for f in (layer_norm, rms_norm, sinusoidal, rotate, attention, causal, mask_future, where, concat)
    },
    **{f.__name__: f for f in (minimum, maximum, top_k, top_k_places, arange, one_hot)},
    "zeros": full(0.0),
    "ones": full(1.0),
    "shape": lambda x: np.asarray(x.shape, np.float64),
    "join": join,
}
