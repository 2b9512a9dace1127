"""Attention without its division by sqrt(d_k), in a model of the product."""

from __future__ import annotations

from math import sqrt

from torch import Tensor, nn
from torch.nn.utils import parametrize

from pellucid.nn.attention import MultiHeadAttention


class Times(nn.Module):
    """A weight times a number; the weight that is trained stays as it was drawn."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, weight: Tensor) -> Tensor:
        return weight * self.factor


def remove_scale(model: nn.Module, d_head: int) -> None:
    """Make W_Q and its bias sqrt(d_k) times as large wherever they are used, which cancels the division exactly."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            for name in ("weight", "bias") if module.query.bias is not None else ("weight",):
                parametrize.register_parametrization(module.query, name, Times(sqrt(d_head)))
