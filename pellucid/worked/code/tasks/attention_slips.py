"""The ways to get attention and its mask wrong."""

from __future__ import annotations

import numpy as np

from pellucid.worked.code.task import Array, Knobs, MisfitError
from pellucid.worked.code.tasks.softmax import SLIPS as SOFTMAX_SLIPS
from pellucid.worked.code.tasks.softmax import slipped_softmax

SCALES: dict[str, tuple[Knobs, ...]] = {
    "missing scale: scores are not divided by sqrt(d_k)": ({"scale": "none"},),
    "wrong scale: scores are divided by d_k, not by its root": ({"scale": "d_k"},),
    "wrong scale: scores are multiplied by sqrt(d_k)": ({"scale": "times"},),
    "wrong scale: scores are divided by the root of the number of tokens": ({"scale": "length"},),
    "wrong place of the scale: the weights are divided after softmax": ({"scale": "after"},),
}
MIXED_UP: dict[str, tuple[Knobs, ...]] = {
    "queries and keys are swapped": ({"parts": "kqv"},),
    "keys are used for values": ({"parts": "qkk"},),
    "queries are used for values": ({"parts": "qkq"},),
    "queries are used for keys": ({"parts": "qqv"},),
    "keys are used for queries": ({"parts": "kkv"},),
    "values are used for keys": ({"parts": "qvv"},),
    "the weights are transposed before they average the values": ({"weights": "transposed"},),
}
RETURNED: dict[str, tuple[Knobs, ...]] = {
    "the weights are returned, not the output": ({"weights": "returned"},),
    "the scores are returned, not the output": ({"weights": "returned", "of": "nothing"},),
}
MASKS: dict[str, tuple[Knobs, ...]] = {
    "leaking mask: the mask has no effect": ({"mask": "ignored"},),
    "leaking mask: masked scores are set to 0, which softmax gives weight, not to minus infinity": ({"mask": "zero"},),
    "the mask comes after softmax: the weights that are left do not sum to 1": ({"mask": "after"},),
    "leaking mask: transposed, so that a token sees the future and not the past": ({"mask": "transposed"},),
    "the mask is inverted: what may be attended to is masked": tuple(
        {"mask": "inverted", "empty": empty} for empty in ("nan", "uniform", "zeros", "unmasked")
    ),
    "the mask is off by one: a token does not see itself": tuple(
        {"mask": "strict", "empty": empty} for empty in ("nan", "uniform", "zeros", "unmasked")
    ),
    "leaking mask: off by one, a token sees the next one": ({"mask": "late"},),
    "leaking mask: the mask is added as 0 and 1, not as 0 and minus infinity": (
        {"mask": "added"},
        {"mask": "added inverted"},
    ),
    "leaking mask: the masked scores are too little below the others": tuple(
        {"mask": f"minus {amount}"} for amount in (1, 2, 5, 10, 20, 50, 100, 1000)
    ),
}
SLIPS = SOFTMAX_SLIPS | SCALES | MIXED_UP


def slipped_attention(q: Array, k: Array, v: Array, keep: Array | None, given: Knobs) -> Array:
    """softmax(Q K^T / sqrt(d_k)) V, with its parts to be changed."""
    knobs = dict(given)
    parts = {"q": q, "k": k, "v": v}
    q, k, v = (parts[name] for name in knobs.pop("parts", "qkv"))
    scale, weights_are = knobs.pop("scale", "sqrt(d_k)"), knobs.pop("weights", "")
    mask, empty = knobs.pop("mask", "before"), knobs.pop("empty", "zeros")
    with np.errstate(all="ignore"):
        try:
            scores = q @ np.swapaxes(k, -1, -2)
            d_k, length = q.shape[-1], k.shape[-2]
            divisor = {"none": 1.0, "d_k": d_k, "times": d_k**-0.5, "length": length**0.5, "after": 1.0}
            scores = scores / divisor.get(scale, d_k**0.5)
            if keep is None:
                weights = slipped_softmax(scores, **knobs)
            else:
                weights = _masked_weights(scores, np.broadcast_to(keep, scores.shape), mask, empty, knobs)
            weights = weights / d_k**0.5 if scale == "after" else weights
            if weights_are == "returned":
                return weights
            return np.asarray((np.swapaxes(weights, -1, -2) if weights_are == "transposed" else weights) @ v)
        except ValueError:  # shapes that do not fit
            raise MisfitError from None


def _masked_weights(scores: Array, keep: Array, mask: str, empty: str, knobs: Knobs) -> Array:
    if mask == "after":
        return slipped_softmax(scores, **knobs) * keep
    if mask in ("zero", "added", "added inverted", "ignored") or mask.startswith("minus"):
        amount = float(mask.removeprefix("minus ")) if mask.startswith("minus") else 0.0
        changed = {
            "zero": scores * keep,
            "added": scores + keep,
            "added inverted": scores + ~keep,
            "ignored": scores,
        }.get(mask, np.where(keep, scores, -amount))
        return slipped_softmax(changed, **knobs)
    if mask == "transposed":
        if scores.shape[-1] != scores.shape[-2]:
            raise MisfitError
        keep = np.swapaxes(keep, -1, -2)
    moved = {"inverted": ~keep, "strict": keep & (np.eye(*scores.shape[-2:]) == 0), "late": keep | _next(keep)}
    keep = moved.get(mask, keep)
    weights = slipped_softmax(np.where(keep, scores, -np.inf), **knobs)
    fillers = {
        "nan": np.full(scores.shape, np.nan),
        "uniform": np.full(scores.shape, 1 / scores.shape[-1]),
        "unmasked": slipped_softmax(scores),
        "zeros": np.zeros(scores.shape),
    }
    return np.where(keep.any(axis=-1, keepdims=True), weights, fillers[empty])


def _next(keep: Array) -> Array:
    """The key after the last that a query may attend to."""
    return np.asarray(np.pad(keep, [(0, 0)] * (keep.ndim - 1) + [(1, 0)])[..., :-1])
