"""The key-value cache of the decoder between two steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike
from torch import Tensor


@dataclass(frozen=True)
class Cache:
    """Keys and values of every decoder layer.

    Those of the source are held once per sentence, whatever the beam: the beam is the query axis of cross-attention.
    """

    memory: list[tuple[Tensor, Tensor]]  # keys and values, each (sentences, key heads, source, d_head)
    memory_keep: Tensor  # (sentences, 1, 1, source)
    past: list[tuple[Tensor, Tensor]]  # keys and values, each (sentences, beam, key heads, so far, d_head)

    @property
    def length(self) -> int:
        """Tokens decoded so far."""
        return self.past[0][0].shape[3]

    def select(self, sentences: ArrayLike, beams: ArrayLike) -> Cache:
        """The cache of some sentences (kept,), their hypotheses taken from `beams` (kept, new beam)."""
        rows = torch.as_tensor(sentences, device=self.memory_keep.device)
        columns = torch.as_tensor(beams, device=self.memory_keep.device)
        past = [(keys[rows[:, None], columns], values[rows[:, None], columns]) for keys, values in self.past]
        if len(rows) == len(self.memory_keep) and bool((rows == torch.arange(len(rows), device=rows.device)).all()):
            return Cache(self.memory, self.memory_keep, past)  # all remain: the source side is shared, not copied
        memory = [(keys[rows], values[rows]) for keys, values in self.memory]
        return Cache(memory, self.memory_keep[rows], past)
