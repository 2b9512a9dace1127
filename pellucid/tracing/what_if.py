"""The reference under interventions: the same model and the same search, with some values replaced on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pellucid.decode.engines.reference import ReferenceEngine
from pellucid.decode.hypotheses import Sentence
from pellucid.decode.logit_filters import Floats, Ints
from pellucid.reference import Cache, Transformer, softmax
from pellucid.reference.functions import Array, Mask
from pellucid.tracing.interventions import Change
from pellucid.tracing.record import changing


@dataclass(frozen=True)
class Prefixes:
    """Hypotheses so far, which a step reads anew, whole: where the causal mask is off, a token changes those before."""

    memory: Array  # (sentences, source, d_model)
    real: Mask  # (sentences, source)
    tokens: Ints  # (sentences, beam, target so far)

    def select(self, sentences: ArrayLike, beams: ArrayLike) -> Prefixes:
        """Those of some sentences (kept,), their hypotheses taken from `beams` (kept, new beam)."""
        rows, columns = np.asarray(sentences), np.asarray(beams)
        return Prefixes(self.memory[rows], self.real[rows], self.tokens[rows[:, None], columns])


class ChangedReference:
    """What the search and the trace need of an engine."""

    def __init__(self, engine: ReferenceEngine, change: Change, future: bool) -> None:
        self.model: Transformer = engine.model
        self._engine, self._change = engine, change
        self._future = future  # a token changes those before it

    def allowed(self, sentence: Sentence) -> Ints | None:
        return self._engine.allowed(sentence)

    def start(self, source: Ints) -> Prefixes | Cache:
        """The empty hypotheses of sources (sentences, source)."""
        real = np.ones(source.shape, dtype=np.bool_)
        memory = self.model.encode(source, real, changing(self._change))
        if not self._future:
            return self.model.start(memory, real)
        return Prefixes(memory, real, np.zeros((len(source), 1, 0), dtype=np.int64))

    def step(self, tokens: Ints, prefixes: Prefixes | Cache) -> tuple[Floats, Prefixes | Cache]:
        """One token a hypothesis: (sentences, beam) -> logits (sentences, beam, vocabulary) and longer prefixes."""
        if isinstance(prefixes, Cache):
            return self.model.step(tokens, prefixes, changing(self._change))
        sentences, beam = tokens.shape
        so_far = np.concatenate([prefixes.tokens, tokens[..., None]], axis=-1)
        memory, real = (np.repeat(each, beam, axis=0) for each in (prefixes.memory, prefixes.real))
        # (sentences, beam, target so far) -> (sentences * beam, target so far)
        rows = so_far.reshape(sentences * beam, -1)
        logits = self.model.decode(rows, memory, real, changing(self._change))[:, -1]
        return logits.reshape(sentences, beam, -1), Prefixes(prefixes.memory, prefixes.real, so_far)


def probabilities(logits: Array, output: Sequence[int]) -> tuple[float, ...]:
    """Those of the output's tokens."""
    return tuple(softmax(logits)[np.arange(len(output)), list(output)].tolist())
