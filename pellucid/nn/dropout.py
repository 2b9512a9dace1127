"""Dropout from the raw bytes of a fast generator.

On a CPU `F.dropout` draws its numbers one by one, which takes longer than the matrix product beside it. Here one byte
of SFC64 decides for each element. The generator is seeded by `seeded` for the current thread, else from torch's own, so
that `torch.manual_seed` has its usual effect. The probability is rounded to a multiple of 1/256 (0.1 becomes 26/256),
and the kept elements are scaled by the rounded one, so that the expectation is exact.
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
    """Inside, the dropout of this thread is a function of `seed`, whatever other threads draw."""
    before = getattr(_thread, "generator", None)
    _thread.generator = np.random.SFC64(seed)
    try:
        yield
    finally:
        _thread.generator = before


def dropout_mask(shape: torch.Size, probability: float, dtype: torch.dtype) -> Tensor:
    """0 where an element is dropped, else 1 / (share that is kept), of the given shape."""
    threshold = round(probability * 256)
    generator = getattr(_thread, "generator", None) or np.random.SFC64(int(torch.randint(2**62, ())))
    count = shape.numel()
    raw = generator.random_raw(-(-count // 8)).view(np.uint8)[:count]
    survives = torch.from_numpy(raw >= threshold)  # one byte per element, True with probability 1 - threshold / 256
    return survives.view(shape).to(dtype).mul_(256 / (256 - threshold))


def dropout(x: Tensor, probability: float) -> Tensor:
    """Zero each element with this probability and scale the others, so that the expectation stays."""
    if x.device.type != "cpu":
        return functional.dropout(x, probability)
    return x * dropout_mask(x.shape, probability, x.dtype)


class Dropout(nn.Module):
    """Dropout in training mode, the identity in evaluation mode."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.probability) if self.training and self.probability else x
