"""Dropout from the raw bytes of a fast generator.

On a CPU `F.dropout` draws its numbers one after the other, which costs more than the matrix product beside it. Here a
byte of SFC64 decides about an element. What seeds it is `seeded`, a thread at a time, else torch's own generator: so
`torch.manual_seed` still governs everything that does not ask for more. The chance is a multiple of 1/256 (0.1 becomes
26/256), and what is kept is scaled by that very chance, so the expectation is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

_thread = local()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """What this thread drops inside is a function of `seed`, whatever other threads draw meanwhile."""
    before = getattr(_thread, "generator", None)
    _thread.generator = np.random.SFC64(seed)
    try:
        yield
    finally:
        _thread.generator = before


def dropout_mask(shape: torch.Size, chance: float, dtype: torch.dtype) -> Tensor:
    """0 where an element is dropped, else 1 / (share kept): of the given shape."""
    threshold = round(chance * 256)
    generator = getattr(_thread, "generator", None) or np.random.SFC64(int(torch.randint(2**62, ())))
    count = shape.numel()
    raw = generator.random_raw(-(-count // 8)).view(np.uint8)[:count]
    keep = torch.from_numpy(raw >= threshold)  # one byte an element, True with chance 1 - threshold / 256
    return keep.view(shape).to(dtype).mul_(256 / (256 - threshold))


def dropout(x: Tensor, chance: float) -> Tensor:
    """Zero each element with this chance and scale the others, so that the expectation stays."""
    if x.device.type != "cpu":
        return functional.dropout(x, chance)
    return x * dropout_mask(x.shape, chance, x.dtype)


class Dropout(nn.Module):
    """Drops in training, does nothing in `eval`."""

    def __init__(self, chance: float) -> None:
        super().__init__()
        self.chance = chance

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.chance) if self.training and self.chance else x
