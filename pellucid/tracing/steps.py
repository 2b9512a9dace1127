"""Step by step: the distribution over the next token, what each rule would draw from, and the logit lens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pellucid.decode import logit_filters as filters
from pellucid.reference import Transformer, softmax
from pellucid.reference.functions import Array
from pellucid.text.tokenizer import Tokenizer
from pellucid.tracing.trace import Candidate, Pool, Reading, Step

CANDIDATES = 10  # shown of a step
READINGS = 3  # shown of a layer
TOP_K, TOP_P = 5, 0.9


def steps(
    model: Transformer,
    values: Mapping[str, Array],
    engine_logits: NDArray[np.floating],
    said: Sequence[int],
    tokenizer: Tokenizer,
) -> tuple[Step, ...]:
    """One step for every token of the target. `engine_logits` (target, vocabulary) is what the engine thought."""
    logits = values["output.logits"]  # (target, vocabulary)
    probabilities, engine_probabilities = softmax(logits), softmax(engine_logits)
    by_layer = [softmax(model.lens(x)) for x in _handed_on(model, values)]  # each (target, vocabulary)
    found = []
    for position, token in enumerate(said):
        here, engine_here = probabilities[position], engine_probabilities[position]
        candidates = _likeliest(here, CANDIDATES, tokenizer)
        [engine_choice] = _likeliest(engine_here, 1, tokenizer)
        found.append(
            Step(
                chosen=_candidate(token, here, tokenizer),
                rank=_rank(here, token),
                entropy=_bits(here),
                candidates=candidates,
                pools=pools(logits[position]),
                lens=tuple(_reading(layer, p[position], token, tokenizer) for layer, p in enumerate(by_layer)),
                engine=engine_choice,
                differs=engine_choice.id != candidates[0].id,
            )
        )
    return tuple(found)


def pools(logits: Array) -> tuple[Pool, ...]:
    """What greedy search, top-k and top-p would draw from if every token might be said, by the filters of decoding."""
    probabilities = softmax(logits)
    kept = {
        ("greedy", 1.0): filters.top_k(logits, 1),
        ("top_k", float(TOP_K)): filters.top_k(logits, TOP_K),
        ("top_p", TOP_P): filters.top_p(logits, TOP_P),
    }
    return tuple(
        Pool(rule, setting, int(np.isfinite(scores).sum()), float(probabilities[np.isfinite(scores)].sum()))  # type: ignore[arg-type]
        for (rule, setting), scores in kept.items()
    )


def _handed_on(model: Transformer, values: Mapping[str, Array]) -> list[Array]:
    """What each decoder layer gives to the next: (target, d_model)."""
    last = "sum" if model.config.norm_place == "pre" else "norm"
    return [
        values[f"decoder.layers.{layer}.feed_forward_residual.{last}"] for layer in range(model.config.decoder_layers)
    ]


def _reading(layer: int, probabilities: Array, said: int, tokenizer: Tokenizer) -> Reading:
    candidates = _likeliest(probabilities, READINGS, tokenizer)
    return Reading(layer, candidates, float(probabilities[said]), _rank(probabilities, said))


def _likeliest(probabilities: Array, count: int, tokenizer: Tokenizer) -> tuple[Candidate, ...]:
    order = np.argsort(-probabilities, kind="stable")[:count]
    return tuple(_candidate(int(token), probabilities, tokenizer) for token in order)


def _candidate(token: int, probabilities: Array, tokenizer: Tokenizer) -> Candidate:
    [text] = tokenizer.readable([token])
    return Candidate(token, text, float(probabilities[token]))


def _rank(probabilities: Array, token: int) -> int:
    return int((probabilities > probabilities[token]).sum())


def _bits(probabilities: Array) -> float:
    """How undecided a distribution is: 0 for certainty, 1 for a coin, n for 2^n equal tokens."""
    positive = probabilities[probabilities > 0]
    return max(0.0, float(-(positive * np.log2(positive)).sum()))
