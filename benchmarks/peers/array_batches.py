"""Pellucid's own batches as torch tensors, for peers that are fed by hand: the very same numbers in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Tensors(NamedTuple):
    source: Tensor  # (rows, source length)
    source_real: Tensor  # (rows, source length), True at real tokens
    target_in: Tensor  # (rows, target length)
    target_out: Tensor  # (rows, target length)
    target_real: Tensor  # (rows, target length)

    @property
    def tokens(self) -> int:
        return int(self.source_real.sum()) + int(self.target_real.sum())


def batches(folder: Path) -> Iterator[Tensors]:
    """All that were laid out, over and over."""
    with np.load(folder / "batches.npz") as arrays:
        made = []
        for number in count():
            if f"source_{number}" not in arrays:
                break
            made.append(Tensors(*(torch.from_numpy(arrays[f"{name}_{number}"]) for name in Tensors._fields)))
    while True:
        yield from made
