"""PyTorch: every model and every request, fast enough to train and to sample with.

It computes in float64. In float32 the last digits of a product depend on how many rows are multiplied at once, and
where two hypotheses are all but equal that would let the other sentences of a batch decide between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.engines import EngineName, Ids
from pellucid.decode.engines.batches import equal_lengths, search_in_batches
from pellucid.decode.filters import Floats, Ints
from pellucid.decode.search import Hypothesis, Sentence, Watch
from pellucid.nn import Cache, Transformer
from pellucid.text.target_tokens import TargetTokens
from pellucid.text.tokenizer import START


@contextmanager
def _one_thread() -> Iterator[None]:
    """The work of one step is small: threads that share it mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class TorchEngine:
    name: EngineName = "torch"

    def __init__(self, directory: Path, target_tokens: TargetTokens, dtype: torch.dtype = torch.float64) -> None:
        self.model = Transformer.load(directory).to(dtype)
        self.target_tokens = target_tokens

    def refuses(self, config: DecodeConfig, longest: int) -> str:  # noqa: ARG002
        return ""

    def search(
        self, sentences: Sequence[Sentence], config: DecodeConfig, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        with torch.inference_mode(), _one_thread():
            return search_in_batches(
                self._start, self._step, sentences, config, self.model.config, self.target_tokens, watch
            )

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

    @torch.inference_mode()
    @_one_thread()
    def _forward(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> torch.Tensor:
        """Logits (rows, target, vocabulary) of sources of one length and targets of one length."""
        source = torch.tensor(sources)
        target_in = torch.tensor([[START, *target[:-1]] for target in targets])
        logits: torch.Tensor = self.model(source, torch.ones_like(source, dtype=torch.bool), target_in)
        return logits

    def _start(self, source: Ints) -> Cache:
        ids = torch.from_numpy(source)
        keep = torch.ones_like(ids, dtype=torch.bool)
        return self.model.start(self.model.encode(ids, keep), keep)

    def _step(self, tokens: Ints, cache: Cache) -> tuple[Floats, Cache]:
        logits, cache = self.model.step(torch.from_numpy(np.ascontiguousarray(tokens)), cache)
        return logits.numpy(), cache
