"""The oracle: float64 NumPy. Slow, needs nothing installed, knows every model and every request."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.engines import EngineName, Ids
from pellucid.decode.engines.batches import search_in_batches, stoppable
from pellucid.decode.hypotheses import Hypothesis, OnToken, Sentence, Stop
from pellucid.decode.logit_filters import Floats, Ints
from pellucid.model_directory import ModelDirectory
from pellucid.reference import Cache, Transformer, log_softmax
from pellucid.reference.functions import Array
from pellucid.reference.taps import recording
from pellucid.text.batch import shifted


class ReferenceEngine:
    name: EngineName = "reference"
    compute_type = "float64"

    def __init__(self, directory: ModelDirectory) -> None:
        self.model = Transformer.load(directory)
        self.restriction = directory.restriction
        self.alignment = directory.alignment

    def unsupported(self, config: DecodeConfig, longest: int) -> str:  # noqa: ARG002
        return ""

    def search(
        self,
        sentences: Sequence[Sentence],
        config: DecodeConfig,
        on_token: OnToken | None = None,
        stop: Stop | None = None,
    ) -> list[list[Hypothesis]]:
        step = stoppable(self.step, stop)
        positions = self.model.config.max_positions
        return search_in_batches(self.start, step, sentences, config, self.restriction, positions, on_token)

    def allowed(self, sentence: Sentence) -> Ints | None:
        """The tokens to which the search for a sentence is restricted; None: all of them."""
        return self.restriction.allowed(self.restriction.applies(sentence.target_language, sentence.prefix))

    def logits(self, source: Ids, target: Ids) -> NDArray[np.floating]:
        ids = np.array([source])
        target_in = np.array([shifted(target)])
        logits: NDArray[np.floating] = self.model.forward(ids, np.ones(ids.shape, dtype=bool), target_in)[0]
        return logits

    def align(self, pairs: Sequence[tuple[Sentence, Ids]]) -> list[NDArray[np.floating]]:
        return [self._align(sentence.source_ids, target) for sentence, target in pairs]

    def _align(self, source: Ids, target: Ids) -> NDArray[np.floating]:
        [weights] = self.cross_attention(source, target, [self.alignment.tap])
        # (heads, target, source) -> (target, source)
        return np.asarray(weights[list(self.alignment.heads)].mean(axis=0))

    def cross_attention(self, source: Ids, target: Ids, names: Sequence[str]) -> list[Array]:
        """The weights that pass under each of the names, (heads, target, source), for a given target."""
        values: dict[str, Array] = {}
        ids, target_in = np.array([source]), np.array([shifted(target)])
        self.model.forward(ids, np.ones(ids.shape, dtype=bool), target_in, recording(values))
        return [values[name][0] for name in names]

    def score(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[NDArray[np.floating]]:
        return [
            log_softmax(self.logits(source, target))[np.arange(len(target)), np.array(target)]
            for source, target in pairs
        ]

    def start(self, source: Ints) -> Cache:
        """The cache before the first step, of sources (sentences, source)."""
        real = np.ones(source.shape, dtype=bool)
        return self.model.start(self.model.encode(source, real), real)

    def step(self, tokens: Ints, cache: Cache) -> tuple[Floats, Cache]:
        """One token a hypothesis: (sentences, beam) -> logits (sentences, beam, vocabulary) and the longer cache."""
        return self.model.step(tokens, cache)
