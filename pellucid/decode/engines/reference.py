"""The oracle: float64 NumPy. Slow, needs nothing installed, knows every model and every request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.engines import EngineName, Ids
from pellucid.decode.engines.batches import search_in_batches
from pellucid.decode.filters import Ints
from pellucid.decode.search import Hypothesis, Sentence, Watch
from pellucid.reference import Cache, Transformer, log_softmax
from pellucid.text.batch import shifted
from pellucid.text.target_tokens import TargetTokens


class ReferenceEngine:
    name: EngineName = "reference"

    def __init__(self, directory: Path, target_tokens: TargetTokens) -> None:
        self.model = Transformer.load(directory)
        self.target_tokens = target_tokens

    def refuses(self, config: DecodeConfig, longest: int) -> str:  # noqa: ARG002
        return ""

    def search(
        self, sentences: Sequence[Sentence], config: DecodeConfig, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        return search_in_batches(
            self._start, self.model.step, sentences, config, self.model.config, self.target_tokens, watch
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
        keep = np.ones(source.shape, dtype=bool)
        return self.model.start(self.model.encode(source, keep), keep)
