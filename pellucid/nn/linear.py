"""x W^T + b. In bfloat16 on a CPU the rows of every product are filled up to a multiple of 128.

There the library that multiplies compiles a kernel for each shape it meets, and keeps it: a third of a millisecond and
more than half a megabyte. Every batch has another number of tokens, so training would compile some thirty kernels at
every step. Filled up, the shapes are few and soon known.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

ROWS = 128  # a product has a multiple of these


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """(..., in) -> (..., out); weight (out, in), bias (out,)."""
    if x.device.type != "cpu" or factor_type(weight) != torch.bfloat16:
        return functional.linear(x, weight, bias)
    product: Tensor = _FilledLinear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return product


def factor_type(weight: Tensor) -> torch.dtype:
    """Of the factors of the large products: bfloat16 in mixed precision, where all else keeps its digits. A model in
    float64 stays so, as everywhere under autocast."""
    device = weight.device.type
    mixed = torch.is_autocast_enabled(device) and weight.dtype != torch.float64
    return torch.get_autocast_dtype(device) if mixed else weight.dtype


def filled(x: Tensor, kind: torch.dtype) -> Tensor:
    """x (..., width) as the rows of a factor, (rows, width): in bfloat16 on a CPU with zeros behind them."""
    width, count = x.shape[-1], x.shape[:-1].numel()
    if x.device.type != "cpu" or kind != torch.bfloat16:
        return x.reshape(count, width).to(kind)
    rows = x.new_empty(-(-count // ROWS) * ROWS, width, dtype=kind)
    rows[:count].view(x.shape).copy_(x)
    rows[count:].zero_()
    return rows


class _FilledLinear(torch.autograd.Function):
    """The result has the type of the factors, the gradients those of what they belong to: as under autocast."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        narrow = weight.to(torch.bfloat16)
        rows = filled(x, narrow.dtype)  # (rows, in)
        y = rows @ narrow.T if bias is None else torch.addmm(bias.to(narrow.dtype), rows, narrow.T)
        ctx.save_for_backward(rows, narrow)
        ctx.shape, ctx.kind, ctx.weight_kind, ctx.biased = x.shape, x.dtype, weight.dtype, bias is not None
        return y[: x.shape[:-1].numel()].view(*x.shape[:-1], len(narrow))  # (rows, out) -> (..., out)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, narrow = ctx.saved_tensors
        grad_y = filled(grad, narrow.dtype)  # (rows, out)
        # (rows, in) -> (..., in)
        grad_x = (grad_y @ narrow)[: ctx.shape[:-1].numel()].view(ctx.shape).to(ctx.kind)
        grad_bias = grad_y.sum(0, dtype=ctx.weight_kind) if ctx.biased else None
        return grad_x, (grad_y.T @ rows).to(ctx.weight_kind), grad_bias
