"""Positional encodings: sinusoids added to the embedding, a learned table, or rotations of queries and keys."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from pellucid.config.model import PositionLayout


def angles(start: int, end: int, size: int) -> Tensor:
    """position / 10000^(2i / size) for every pair i of dimensions, in float64: (end - start, size / 2)."""
    frequency = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    return torch.arange(start, end, dtype=torch.float64)[:, None] * frequency


def sinusoidal(start: int, end: int, d_model: int, layout: PositionLayout) -> Tensor:
    """Sines and cosines of the positions start..end: (end - start, d_model)."""
    angle = angles(start, end, d_model)
    if layout == "halves":
        return torch.cat([angle.sin(), angle.cos()], dim=-1)
    # (length, d_model / 2, 2) -> (length, d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


class Rotation(NamedTuple):
    """The angles of some positions, ready to turn queries and keys: both (length, d_head / 2)."""

    cos: Tensor
    sin: Tensor
    layout: PositionLayout

    @classmethod
    def of(cls, angle: Tensor, layout: PositionLayout, like: Tensor) -> Rotation:
        return cls(angle.cos().to(like), angle.sin().to(like), layout)

    def turn(self, x: Tensor) -> Tensor:
        """Turn each pair of features by its angle; lengths stay: (..., length, d_head)."""
        if self.layout == "halves":
            first, second = x.chunk(2, dim=-1)
        else:
            first, second = x[..., 0::2], x[..., 1::2]
        turned = first * self.cos - second * self.sin, first * self.sin + second * self.cos
        if self.layout == "halves":
            return torch.cat(turned, dim=-1)
        # (..., length, d_head / 2, 2) -> (..., length, d_head)
        return torch.stack(turned, dim=-1).flatten(-2)
