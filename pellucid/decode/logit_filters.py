"""Filters of the next token's scores: one small function for each rule of decoding.

`scores` are logits or log-probabilities, (..., vocabulary); every leading axis is a batch axis, and no row depends on
another. `history` holds the tokens so far, (..., length), with the same leading axes. An excluded token gets -inf.
Nothing is changed in place.
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


def _keep_best(scores: Floats, keep_rank: NDArray[np.bool_]) -> Floats:
    """`keep_rank` says of every rank (the likeliest token has rank 0) whether it stays."""
    order = np.argsort(-scores, axis=-1, kind="stable")
    keep = np.empty(scores.shape, dtype=bool)
    np.put_along_axis(keep, order, np.broadcast_to(keep_rank, scores.shape), axis=-1)
    return np.where(keep, scores, -np.inf).astype(scores.dtype)


def restrict(scores: Floats, allowed: Ints) -> Floats:
    """Exclude all tokens but `allowed`, (tokens,)."""
    limited = np.full_like(scores, -np.inf)
    limited[..., allowed] = scores[..., allowed]
    return limited


def repetition_penalty(scores: Floats, history: Ints, penalty: float) -> Floats:
    """Penalise tokens of the history: a positive logit is divided by the penalty, a negative one multiplied."""
    seen = np.take_along_axis(scores, history, axis=-1)
    penalised = scores.copy()
    np.put_along_axis(penalised, history, np.where(seen < 0, seen * penalty, seen / penalty), axis=-1)
    return penalised


def no_repeat_ngram(scores: Floats, history: Ints, size: int) -> Floats:
    """Exclude every token that would complete an n-gram of this size that is already in the history."""
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


def exclude(scores: Floats, token: int) -> Floats:
    """Exclude one token in every row."""
    blocked = scores.copy()
    blocked[..., token] = -np.inf
    return blocked


def ensure_one_allowed(scores: Floats, token: int) -> Floats:
    """Where every token is excluded, allow this one."""
    allowed = scores.copy()
    allowed[..., token] = np.where(np.isfinite(scores).any(axis=-1), scores[..., token], 0.0)
    return allowed


def sample(scores: Floats, generators: Sequence[np.random.Generator]) -> Ints:
    """Draw a token for each row: (rows, vocabulary) -> (rows,). Each row has a random generator of its own."""
    cumulative = np.cumsum(np.exp(log_softmax(scores.astype(np.float64))), axis=-1)
    drawn_at = np.array([generator.random() for generator in generators]) * cumulative[:, -1]
    tokens = (cumulative <= drawn_at[:, None]).sum(axis=-1)
    # Rounding may put the drawn number at the very end, past the last token that has any probability.
    last = scores.shape[-1] - 1 - np.argmax(np.isfinite(scores[:, ::-1]), axis=-1)
    sampled: Ints = np.minimum(tokens, last).astype(np.int64)
    return sampled
