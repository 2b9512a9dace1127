"""One recorded pass of the reference over a sentence and its target, and the score that follows from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pellucid.decode.engines import Engine
from pellucid.decode.logit_filters import restrict
from pellucid.reference import Transformer, causal, log_softmax
from pellucid.reference.functions import Array, Mask
from pellucid.reference.taps import Tap
from pellucid.text.batch import shifted
from pellucid.tracing.interventions import Change, no_change
from pellucid.tracing.trace import Attention, Score


def changing(change: Change, seen: dict[str, Array] | None = None) -> Tap:
    """A tap that changes the values of one pass. `seen` are those that passed before."""
    seen = {} if seen is None else seen

    def tap(name: str, value: Array) -> Array:
        seen[name] = change(name, value, seen)
        return seen[name]

    return tap


def record(
    model: Transformer, source: Sequence[int], output: Sequence[int], change: Change = no_change
) -> dict[str, Array]:
    """All values of both stacks by name, in the order of the computation, without the axis of the batch."""
    values: dict[str, Array] = {}
    changed = changing(change)

    def tap(name: str, value: Array) -> Array:
        value = changed(name, value)
        if _is_recorded(name):
            values[name] = value if name.endswith((".position", ".angles")) else value[0]  # these have no batch axis
        return value

    ids = np.array([source])
    model.forward(ids, np.ones(ids.shape, dtype=np.bool_), np.array([shifted(output)]), tap)
    return values


def _is_recorded(name: str) -> bool:
    """All values, but not the scores before a mask that hides nothing."""
    return not name.endswith(".products") or (name.startswith("decoder.") and ".self_attention." in name)


def masks(source: int, target: int) -> dict[Attention, Mask]:
    """Who could see whom in a sentence without padding: (query, key)."""
    return {
        "encoder.self_attention": np.ones((source, source), dtype=np.bool_),
        "decoder.self_attention": causal(target),
        "decoder.cross_attention": np.ones((target, source), dtype=np.bool_),
    }


def searched_scores(
    engine: Engine, score: float, logits: Array, output: Sequence[int], allowed: NDArray[np.int64] | None
) -> tuple[Score, ...]:
    """The score by which the engine found the output, and those that the logits of the reference give. A search may
    be restricted to the tokens of a language, which then share the whole probability."""
    scores = [Score(engine.name, engine.compute_type, logits.shape[-1] if allowed is None else len(allowed), score)]
    if allowed is not None:
        scores.append(exact_score(restrict(logits, allowed), output, len(allowed)))
    return (*scores, exact_score(logits, output))


def given_scores(
    engine: Engine, engine_logits: NDArray[np.floating], logits: Array, output: Sequence[int]
) -> tuple[Score, ...]:
    """The scores that both give to an output that was not searched for."""
    size = logits.shape[-1]
    return (
        Score(engine.name, engine.compute_type, size, _mean_log_prob(engine_logits, output)),
        exact_score(logits, output),
    )


def exact_score(logits: NDArray[np.floating], output: Sequence[int], vocabulary: int | None = None) -> Score:
    """The score that the reference gives, over so many tokens."""
    return Score("reference", "float64", vocabulary or logits.shape[-1], _mean_log_prob(logits, output))


def _mean_log_prob(logits: NDArray[np.floating], output: Sequence[int]) -> float:
    """The mean of the logarithms of the output tokens' probabilities: the score with a length penalty of 1."""
    return float(log_softmax(logits)[np.arange(len(output)), list(output)].mean())
