"""How many threads PyTorch takes for one operation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads(count: int | None = None) -> Iterator[None]:
    """`count` threads inside, if given; however many were set meanwhile, afterwards there are as many as before."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
