"""The PyTorch engine: it supports every model and every setting.

It computes in float64. In float32 the last digits of a product depend on how many rows are multiplied at once, and
where two hypotheses are all but equal that would let the other sentences of a batch decide between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.engines import EngineName, Ids
from pellucid.decode.engines.batches import equal_lengths, search_in_batches, stoppable
from pellucid.decode.hypotheses import Hypothesis, OnToken, Sentence, Stop
from pellucid.decode.logit_filters import Floats, Ints
from pellucid.model_directory import ModelDirectory
from pellucid.nn import Cache, Transformer
from pellucid.nn.taps import attach
from pellucid.nn.threads import threads
from pellucid.text.batch import shifted

ONE = 1  # the work of one step is small: threads that share it mostly wait for each other


class TorchEngine:
    name: EngineName = "torch"

    def __init__(self, directory: ModelDirectory, dtype: torch.dtype = torch.float64) -> None:
        self.compute_type = str(dtype).removeprefix("torch.")
        self.model = Transformer.load(directory).to(dtype)
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
        step = stoppable(self._step, stop)
        positions = self.model.config.max_positions
        with torch.inference_mode(), threads(ONE):
            return search_in_batches(self._start, step, sentences, config, self.restriction, positions, on_token)

    def logits(self, source: Ids, target: Ids) -> NDArray[np.floating]:
        logits: NDArray[np.floating] = self._forward([source], [target])[0].numpy()
        return logits

    def score(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[NDArray[np.floating]]:
        scores: list[NDArray[np.floating]] = [np.zeros(0)] * len(pairs)
        for places in equal_lengths([(len(source), len(target)) for source, target in pairs]):
            sources, targets = zip(*(pairs[place] for place in places), strict=True)
            log_probs = torch.log_softmax(self._forward(sources, targets), dim=-1)
            chosen = log_probs.gather(-1, torch.tensor(targets)[..., None])[..., 0]  # (rows, target)
            for place, row in zip(places, chosen.numpy(), strict=True):
                scores[place] = row
        return scores

    def align(self, pairs: Sequence[tuple[Sentence, Ids]]) -> list[NDArray[np.floating]]:
        found: list[NDArray[np.floating]] = [np.zeros((0, 0))] * len(pairs)
        for places in equal_lengths([(len(sentence.source_ids), len(target)) for sentence, target in pairs]):
            with attach(self.model, self.alignment.tap) as record:
                self._forward([pairs[place][0].source_ids for place in places], [pairs[place][1] for place in places])
            [weights] = record[self.alignment.tap]  # (rows, heads, target, source)
            for place, row in zip(places, weights[:, list(self.alignment.heads)].mean(dim=1).numpy(), strict=True):
                found[place] = row
        return found

    @torch.inference_mode()
    @threads(ONE)
    def _forward(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> torch.Tensor:
        """Logits (rows, target, vocabulary) of sources of one length and targets of one length."""
        source = torch.tensor(sources)
        target_in = torch.tensor([shifted(target) for target in targets])
        logits: torch.Tensor = self.model(source, torch.ones_like(source, dtype=torch.bool), target_in)
        return logits

    def _start(self, source: Ints) -> Cache:
        ids = torch.from_numpy(source)
        real = torch.ones_like(ids, dtype=torch.bool)
        return self.model.start(self.model.encode(ids, real), real)

    def _step(self, tokens: Ints, cache: Cache) -> tuple[Floats, Cache]:
        logits, cache = self.model.step(torch.from_numpy(np.ascontiguousarray(tokens)), cache)
        return logits.numpy(), cache
