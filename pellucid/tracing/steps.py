"""DecodingStep by step: the distribution over the next token, what each rule would draw from, and the logit lens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pellucid.decode import logit_filters as filters
from pellucid.reference import softmax
from pellucid.reference.functions import Array
from pellucid.text.tokenizer import Tokenizer
from pellucid.tracing.trace import Candidate, DecodingStep, Pool, Reading

CANDIDATES = 10  # shown of a step
READINGS = 3  # shown of a layer
TOP_K, TOP_P = 5, 0.9


def steps(
    lens: Callable[[Array], Array],
    layers: Sequence[Array],
    logits: Array,
    engine_logits: NDArray[np.floating],
    output: Sequence[int],
    tokenizer: Tokenizer,
) -> tuple[DecodingStep, ...]:
    """One step for every output token. `engine_logits` (target, vocabulary) are those of the engine, `layers` what each
    decoder layer hands on, (target, d_model), and `lens` makes logits of it."""
    probabilities, engine_probabilities = softmax(logits), softmax(engine_logits)
    by_layer = [softmax(lens(x)) for x in layers]  # each (target, vocabulary)
    found = []
    for position, token in enumerate(output):
        here, engine_here = probabilities[position], engine_probabilities[position]
        candidates = _likeliest(here, CANDIDATES, tokenizer)
        [engine_choice] = _likeliest(engine_here, 1, tokenizer)
        found.append(
            DecodingStep(
                chosen=_candidate(token, here, tokenizer),
                rank=_rank(here, token),
                entropy=_entropy(here),
                candidates=candidates,
                pools=pools(logits[position]),
                lens=tuple(_reading(layer, p[position], token, tokenizer) for layer, p in enumerate(by_layer)),
                engine=engine_choice,
                differs=engine_choice.id != candidates[0].id,
            )
        )
    return tuple(found)


def pools(logits: Array) -> tuple[Pool, ...]:
    """The tokens that greedy search, top-k and top-p would choose from without a vocabulary restriction."""
    probabilities = softmax(logits)
    filtered = {
        ("greedy", 1.0): filters.top_k(logits, 1),
        ("top_k", float(TOP_K)): filters.top_k(logits, TOP_K),
        ("top_p", TOP_P): filters.top_p(logits, TOP_P),
    }
    likely = [(rule, setting, probabilities[np.isfinite(scores)]) for (rule, setting), scores in filtered.items()]
    return tuple(Pool(rule, setting, pool.size, float(pool.sum())) for rule, setting, pool in likely)  # type: ignore[arg-type]


def _reading(layer: int, probabilities: Array, output: int, tokenizer: Tokenizer) -> Reading:
    candidates = _likeliest(probabilities, READINGS, tokenizer)
    return Reading(layer, candidates, float(probabilities[output]), _rank(probabilities, output))


def _likeliest(probabilities: Array, count: int, tokenizer: Tokenizer) -> tuple[Candidate, ...]:
    order = np.argsort(-probabilities, kind="stable")[:count]
    return tuple(_candidate(int(token), probabilities, tokenizer) for token in order)


def _candidate(token: int, probabilities: Array, tokenizer: Tokenizer) -> Candidate:
    [text] = tokenizer.readable([token])
    return Candidate(token, text, float(probabilities[token]))


def _rank(probabilities: Array, token: int) -> int:
    return int((probabilities > probabilities[token]).sum())


def _entropy(probabilities: Array) -> float:
    """The entropy of a distribution in bits: 0 for certainty, n for 2^n equally probable tokens."""
    positive = probabilities[probabilities > 0]
    return max(0.0, float(-(positive * np.log2(positive)).sum()))
