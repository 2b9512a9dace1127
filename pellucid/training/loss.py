"""Label-smoothed cross-entropy, summed over tokens: the division by their count comes once, over a whole update."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

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

    The last two terms are linear in z: their share of the gradients needs no pass over the logits.
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
        log_totals = features.new_empty(len(features))
        learning = any(ctx.needs_input_grad[:3])
        grad_features = torch.empty_like(features) if learning else None
        grad_weight = torch.zeros_like(weight) if learning else None
        grad_bias = torch.zeros_like(bias) if learning and bias is not None else None
        rows = max(1, CHUNK // len(weight))
        for first in range(0, len(features), rows):
            part = slice(first, first + rows)
            z = (features[part].to(factors) @ narrow.T).to(weight.dtype)  # (rows, vocabulary)
            if bias is not None:
                z += bias
            highest = z.amax(dim=-1, keepdim=True)
            exponentials = z.sub_(highest).exp_()
            total = exponentials.sum(dim=-1, keepdim=True)
            log_totals[part] = (highest + total.log()).squeeze(-1)
            if grad_features is not None and grad_weight is not None:
                # p = exponentials / total: dividing the narrow factor instead saves a pass over the logits
                shares = exponentials.to(factors)
                torch.div(shares @ narrow, total, out=grad_features[part])
                add_product(grad_weight, shares.T, (features[part] / total).to(factors))
            if grad_bias is not None:
                grad_bias += (exponentials / total).sum(dim=0)

        if grad_features is not None and grad_weight is not None:
            add_linear_gradients(features, weight, targets, label_smoothing, 1.0, grad_features, grad_weight, grad_bias)
        ctx.save_for_backward(grad_features, grad_weight, grad_bias)
        return log_totals.sum() - linear_part(features, weight, bias, targets, label_smoothing)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (*(None if made is None else made * grad for made in ctx.saved_tensors), None, None, None)


def factor_type(weight: Tensor) -> torch.dtype:
    """Of the factors of the large products: bfloat16 in mixed precision, where sums still keep all their digits."""
    kind = weight.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype


def add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """total += left @ right, in one go where all are of one type."""
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


def linear_part(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, label_smoothing: float
) -> Tensor:
    """Of the loss: (1 - s) z[target] + s mean(z), summed over tokens. It needs no pass over the logits."""
    on_target = 1.0 - label_smoothing
    part = on_target * (features * weight[targets]).sum() + label_smoothing * (features @ weight.mean(dim=0)).sum()
    if bias is not None:
        part = part + on_target * bias[targets].sum() + label_smoothing * len(features) * bias.mean()
    return part


def add_linear_gradients(
    features: Tensor,
    weight: Tensor,
    targets: Tensor,
    label_smoothing: float,
    scale: float,
    grad_features: Tensor,
    grad_weight: Tensor,
    grad_bias: Tensor | None,
) -> None:
    """Subtract `scale` times the gradients of `linear_part` from those made so far, in place."""
    on_target, spread = scale * (1.0 - label_smoothing), scale * label_smoothing
    grad_features.sub_(weight[targets], alpha=on_target).sub_(weight.mean(dim=0), alpha=spread)
    grad_weight.index_add_(0, targets, features, alpha=-on_target)
    grad_weight.sub_(spread / len(weight) * features.sum(dim=0))
    if grad_bias is not None:
        grad_bias.sub_(spread * len(features) / len(weight))
        grad_bias.index_add_(0, targets, torch.ones_like(targets, dtype=grad_bias.dtype), alpha=-on_target)
