"""The oracle: float64 NumPy. Slow, needs nothing installed, knows every model and every request."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.engines import EngineName, Ids
from pellucid.decode.engines.batches import search_in_batches
from pellucid.decode.hypotheses import Hypothesis, OnToken, Sentence
from pellucid.decode.logit_filters import Ints
from pellucid.model_directory import ModelDirectory
from pellucid.reference import Cache, Transformer, log_softmax
from pellucid.text.batch import shifted


class ReferenceEngine:
    name: EngineName = "reference"

    def __init__(self, directory: ModelDirectory) -> None:
        self.model = Transformer.load(directory)
        self.restriction = directory.restriction

    def unsupported(self, config: DecodeConfig, longest: int) -> str:  # noqa: ARG002
        return ""

    def search(
        self, sentences: Sequence[Sentence], config: DecodeConfig, on_token: OnToken | None = None
    ) -> list[list[Hypothesis]]:
        return search_in_batches(
            self._start, self.model.step, sentences, config, self.restriction, self.model.config.max_positions, on_token
        )

    def logits(self, source: Ids, target: Ids) -> NDArray[np.floating]:
        ids = np.array([source])
        target_in = np.array([shifted(target)])
        logits: NDArray[np.floating] = self.model.forward(ids, np.ones(ids.shape, dtype=bool), target_in)[0]
        return logits

    def score(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[NDArray[np.floating]]:
        return [
            log_softmax(self.logits(source, target))[np.arange(len(target)), np.array(target)]
            for source, target in pairs
        ]

    def _start(self, source: Ints) -> Cache:
        real = np.ones(source.shape, dtype=bool)
        return self.model.start(self.model.encode(source, real), real)
