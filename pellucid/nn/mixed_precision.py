"""Mixed precision: matrix products in bfloat16, everything else in float32. Here is what is special on a CPU:

- oneDNN, which multiplies there, compiles a kernel for every new shape and keeps it: a third of a millisecond and more
  than half a megabyte. Each batch has another number of tokens, so training would compile some thirty kernels per step.
  The rows of every product are therefore padded with zeros to a multiple of 128: the shapes are few and soon known.
- The backward pass of fused attention takes ten times as long in bfloat16 as in float32, so it is done in float32.
- Without instructions for it, bfloat16 is hundreds of times slower than float32.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

ROW_BLOCK = 128  # the number of rows of a padded product is a multiple of this


def supports_bfloat16(device: str) -> bool:
    """Whether the hardware multiplies bfloat16."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


def product_dtype(weight: Tensor) -> torch.dtype:
    """The type in which products with `weight` are computed: bfloat16 under autocast, but a float64 model stays so."""
    device = weight.device.type
    mixed = torch.is_autocast_enabled(device) and weight.dtype != torch.float64
    return torch.get_autocast_dtype(device) if mixed else weight.dtype


def _pads_rows(x: Tensor, dtype: torch.dtype) -> bool:
    return x.device.type == "cpu" and dtype == torch.bfloat16


def padded_rows(x: Tensor, dtype: torch.dtype) -> Tensor:
    """(..., width) -> (rows, width) in another type, with rows of zeros at the end where products are padded."""
    width, count = x.shape[-1], x.shape[:-1].numel()
    if not _pads_rows(x, dtype):
        return x.reshape(count, width).to(dtype)
    rows = x.new_empty(-(-count // ROW_BLOCK) * ROW_BLOCK, width, dtype=dtype)
    rows[:count].view(x.shape).copy_(x)
    rows[count:].zero_()
    return rows


def whole_blocks(rows: int) -> int:
    """A number of rows rounded down so that nothing is padded; at least one block."""
    return max(ROW_BLOCK, rows // ROW_BLOCK * ROW_BLOCK)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b: (..., in) -> (..., out); weight (out, in), bias (out,)."""
    if not _pads_rows(x, product_dtype(weight)):
        return functional.linear(x, weight, bias)
    product: Tensor = _PaddedLinear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return product


class _PaddedLinear(torch.autograd.Function):
    """As under autocast, the output is bfloat16 and each gradient has the type of its tensor."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        narrow = weight.to(torch.bfloat16)
        rows = padded_rows(x, narrow.dtype)  # (rows, in)
        y = rows @ narrow.T if bias is None else torch.addmm(bias.to(narrow.dtype), rows, narrow.T)
        ctx.save_for_backward(rows, narrow)
        ctx.shape, ctx.dtype, ctx.weight_dtype, ctx.has_bias = x.shape, x.dtype, weight.dtype, bias is not None
        return y[: x.shape[:-1].numel()].view(*x.shape[:-1], len(narrow))  # (rows, out) -> (..., out)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, narrow = ctx.saved_tensors
        grad_y = padded_rows(grad, narrow.dtype)  # (rows, out)
        # (rows, in) -> (..., in)
        grad_x = (grad_y @ narrow)[: ctx.shape[:-1].numel()].view(ctx.shape).to(ctx.dtype)
        grad_bias = grad_y.sum(0, dtype=ctx.weight_dtype) if ctx.has_bias else None
        return grad_x, (grad_y.T @ rows).to(ctx.weight_dtype), grad_bias


def fused_attention(q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None = None) -> Tensor:
    """The output of `attention` from one kernel, which never holds the weights."""
    if q.device.type == "cpu" and torch.bfloat16 in (q.dtype, v.dtype):  # rotated queries are float32, values are not
        with torch.autocast("cpu", enabled=False):
            return fused_attention(q.float(), k.float(), v.float(), keep).to(v.dtype)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=keep)
