"""What may be said next, and how likely: one small function for each rule of decoding.

`scores` are logits or log-probabilities, (..., vocabulary); every leading axis is a batch axis, and no row looks at
another. `history` holds the tokens said so far, (..., length), with the same leading axes. A token that must not come
gets -inf. Nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]


def log_softmax(scores: Floats) -> Floats:
    """Log-probabilities; a row of log-probabilities stays as it is."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normalised


def temperature(scores: Floats, degree: float) -> Floats:
    """Above 1 flattens, below 1 sharpens; at 0 only the likeliest token is left."""
    if degree == 0:
        return top_k(scores, 1)
    below: Floats = scores - scores.max(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):  # next to 0 all but the likeliest become -inf, as they should
        return below / max(degree, float(np.finfo(scores.dtype).tiny))


def top_k(scores: Floats, k: int) -> Floats:
    """Keep the k likeliest tokens; among equals the lower id comes first."""
    return _keep_best(scores, np.arange(scores.shape[-1]) < k)


def top_p(scores: Floats, p: float) -> Floats:
    """Keep the smallest set of tokens whose probability together exceeds p: at least one, and all of them for p = 1."""
    if p >= 1:
        return scores
    probabilities = np.sort(np.exp(log_softmax(scores).astype(np.float64)), axis=-1)[..., ::-1]
    before = np.cumsum(probabilities, axis=-1) - probabilities  # what the likelier tokens have together
    before[..., 0] = 0.0
    return _keep_best(scores, before <= p)


def _keep_best(scores: Floats, keep: NDArray[np.bool_]) -> Floats:
    """`keep` says of every rank (the likeliest token has rank 0) whether it stays."""
    order = np.argsort(-scores, axis=-1, kind="stable")
    kept = np.empty(scores.shape, dtype=bool)
    np.put_along_axis(kept, order, np.broadcast_to(keep, scores.shape), axis=-1)
    return np.where(kept, scores, -np.inf).astype(scores.dtype)


def only(scores: Floats, allowed: Ints) -> Floats:
    """Nothing but the tokens `allowed`, (tokens,)."""
    limited = np.full_like(scores, -np.inf)
    limited[..., allowed] = scores[..., allowed]
    return limited


def repetition_penalty(scores: Floats, history: Ints, penalty: float) -> Floats:
    """Make tokens already said less likely: a positive logit is divided by the penalty, a negative one multiplied."""
    said = np.take_along_axis(scores, history, axis=-1)
    penalised = scores.copy()
    np.put_along_axis(penalised, history, np.where(said < 0, said * penalty, said / penalty), axis=-1)
    return penalised


def no_repeat_ngram(scores: Floats, history: Ints, size: int) -> Floats:
    """Rule out every token that would complete a run of `size` tokens said before."""
    length = history.shape[-1]
    if length < size:
        return scores
    runs = np.lib.stride_tricks.sliding_window_view(history, size, axis=-1)  # (..., runs, size)
    current = history[..., None, length - size + 1 :]  # (..., 1, size - 1): what the next token would complete
    repeated = (runs[..., :-1] == current).all(axis=-1)  # (..., runs)
    blocked = scores.copy()
    *rows, run = np.nonzero(repeated)
    blocked[(*rows, runs[(*rows, run, -1)])] = -np.inf
    return blocked


def without(scores: Floats, token: int) -> Floats:
    """Rule out one token in every row."""
    blocked = scores.copy()
    blocked[..., token] = -np.inf
    return blocked


def never_nothing(scores: Floats, token: int) -> Floats:
    """Where every token is ruled out, this one is not."""
    allowed = scores.copy()
    allowed[..., token] = np.where(np.isfinite(scores).any(axis=-1), scores[..., token], 0.0)
    return allowed


def draw(scores: Floats, generators: Sequence[np.random.Generator]) -> Ints:
    """One token of each row: (rows, vocabulary) -> (rows,). Each row has its own generator and shares no luck."""
    cumulative = np.cumsum(np.exp(log_softmax(scores.astype(np.float64))), axis=-1)
    luck = np.array([generator.random() for generator in generators]) * cumulative[:, -1]
    tokens = (cumulative <= luck[:, None]).sum(axis=-1)
    # Rounding may put the luck on the very end, past the last token that has any probability.
    last = scores.shape[-1] - 1 - np.argmax(np.isfinite(scores[:, ::-1]), axis=-1)
    drawn: Ints = np.minimum(tokens, last).astype(np.int64)
    return drawn
