"""Label-smoothed cross-entropy, summed over tokens: the division by their count comes once, over a whole update."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pellucid.nn.linear import ROWS, factor_type, filled

CHUNK = 2**22  # logits held at a time: they stay in the processor's cache, and are never held whole


def cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """-sum of log p(target): features (tokens, d_model), weight (vocabulary, d_model), targets (tokens,).

    Equal to `F.cross_entropy(features @ weight.T + bias, targets, reduction="sum", label_smoothing=...)`, without
    ever holding the logits whole: they are made, used and forgotten chunk by chunk, their gradient with them.
    """
    factors = factor_type(weight)
    with torch.autocast(features.device.type, enabled=False):
        features = features.to(weight.dtype)
        loss: Tensor = _ChunkedCrossEntropy.apply(features, weight, bias, targets, label_smoothing, factors)  # type: ignore[no-untyped-call]
    return loss


class _ChunkedCrossEntropy(torch.autograd.Function):
    """With smoothing s, z = features W^T + b and p = softmax(z), a token's loss and its gradient are

    log sum exp z - (1 - s) z[target] - s mean(z)        p - (1 - s) onehot(target) - s / vocabulary
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        label_smoothing: float,
        factors: torch.dtype,
    ) -> Tensor:
        narrow = weight.to(factors)
        loss = features.new_zeros(())
        learning = any(ctx.needs_input_grad[:3])
        grad_features = torch.empty_like(features) if learning else None
        grad_weight = torch.zeros_like(weight) if learning else None
        grad_bias = torch.zeros_like(bias) if learning and bias is not None else None
        rows = chunk_rows(CHUNK, len(weight))
        for first in range(0, len(features), rows):
            part = slice(first, first + rows)
            count = len(features[part])
            f = filled(features[part], factors)  # (rows, d_model)
            z = (f @ narrow.T)[:count].to(weight.dtype)  # (count, vocabulary)
            if bias is not None:
                z += bias
            loss -= pulled(z, targets[part], label_smoothing)
            highest = z.amax(dim=-1, keepdim=True)
            exponentials = z.sub_(highest).exp_()
            total = exponentials.sum(dim=-1, keepdim=True)
            loss += (highest + total.log()).sum()
            if grad_features is not None and grad_weight is not None:
                grad_z = pull(exponentials.div_(total), targets[part], label_smoothing, 1.0)
                if grad_bias is not None:
                    grad_bias += grad_z.sum(dim=0)
                grad_z = filled(grad_z, factors)  # only now: what is left of p where it is nearly right has few digits
                grad_features[part] = (grad_z @ narrow)[:count]
                add_product(grad_weight, grad_z.T, f)
        ctx.save_for_backward(grad_features, grad_weight, grad_bias)
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (*(None if made is None else made * grad for made in ctx.saved_tensors), None, None, None)


def pulled(z: Tensor, targets: Tensor, label_smoothing: float) -> Tensor:
    """(1 - s) z[target] + s mean(z), summed over tokens: the part of the loss that is linear in z."""
    part = (1.0 - label_smoothing) * z.gather(1, targets[:, None]).sum()
    return part + label_smoothing / z.shape[1] * z.sum() if label_smoothing else part


def pull(grad_z: Tensor, targets: Tensor, label_smoothing: float, scale: float) -> Tensor:
    """Subtract `scale` times the gradient of `pulled`, in place."""
    if label_smoothing:
        grad_z -= scale * label_smoothing / grad_z.shape[1]
    grad_z[torch.arange(len(grad_z), device=grad_z.device), targets] -= scale * (1.0 - label_smoothing)
    return grad_z


def chunk_rows(logits: int, vocabulary: int) -> int:
    """Of how many tokens so many logits are: whole blocks of rows, at least one."""
    return max(ROWS, logits // vocabulary // ROWS * ROWS)


def add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """total += left @ right, in one go where all are of one type."""
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right
