"""The key-value cache of the decoder between two steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pellucid.reference.functions import Array, Mask


@dataclass(frozen=True)
class Cache:
    """What the decoder keeps between two steps. Keys and values of the source are held once per sentence."""

    memory_keys: list[Array]  # per layer (sentences, key heads, source, d_head)
    memory_values: list[Array]
    memory_keep: Mask  # (sentences, 1, 1, source)
    keys: list[Array]  # per layer (sentences, beam, key heads, target so far, d_head)
    values: list[Array]

    @property
    def length(self) -> int:
        """Tokens decoded so far."""
        return int(self.keys[0].shape[3])

    def select(self, sentences: ArrayLike, beams: ArrayLike) -> Cache:
        """The cache of some sentences (kept,), their hypotheses taken from `beams` (kept, new beam)."""
        rows, columns = np.asarray(sentences), np.asarray(beams)
        return Cache(
            [keys[rows] for keys in self.memory_keys],
            [values[rows] for values in self.memory_values],
            self.memory_keep[rows],
            [keys[rows[:, None], columns] for keys in self.keys],
            [values[rows[:, None], columns] for values in self.values],
        )
