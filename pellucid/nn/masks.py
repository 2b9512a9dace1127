"""Masks of attention are boolean and called `keep`: True = may attend. They broadcast to (batch, heads, query, key)."""

from __future__ import annotations

import torch
from torch import Tensor


def causal(length: int, device: torch.device | None = None) -> Tensor:
    """No query sees the future: (1, 1, query, key)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]


def padding(real: Tensor) -> Tensor:
    """Every query sees every real token: (batch, length) -> (batch, 1, 1, key)."""
    return real[:, None, None, :]
