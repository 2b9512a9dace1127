"""x W^T + b."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from pellucid.nn.mixed_precision import padded_linear, pads_rows, product_dtype


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """(..., in) -> (..., out); weight (out, in), bias (out,)."""
    if pads_rows(x.device, product_dtype(weight)):
        return padded_linear(x, weight, bias)
    return functional.linear(x, weight, bias)
