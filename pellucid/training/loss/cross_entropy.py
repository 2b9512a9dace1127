"""Label-smoothed cross-entropy, summed over tokens. The sum is divided once, by the number of tokens of an update."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pellucid.nn.mixed_precision import padded_rows, product_dtype, whole_blocks

LOGITS_PER_CHUNK = 2**22  # so that they stay in the processor's cache


def cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """-sum of log p(target): features (tokens, d_model), weight (vocabulary, d_model), targets (tokens,).

    Equal to `F.cross_entropy(features @ weight.T + bias, targets, reduction="sum", label_smoothing=...)`, without
    ever holding all logits: they and their gradient are computed and dropped chunk by chunk.
    """
    dtype = product_dtype(weight)
    if not torch.is_grad_enabled():  # detached, as the autograd function below cannot see this
        features, weight, bias = features.detach(), weight.detach(), None if bias is None else bias.detach()
    with torch.autocast(features.device.type, enabled=False):
        features = features.to(weight.dtype)
        loss: Tensor = _ChunkedCrossEntropy.apply(features, weight, bias, targets, label_smoothing, dtype)  # type: ignore[no-untyped-call]
    return loss


class _ChunkedCrossEntropy(torch.autograd.Function):
    """With smoothing s, z = features W^T + b and p = softmax(z), the loss of a token and its gradient are

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
        dtype: torch.dtype,
    ) -> Tensor:
        with_gradients = any(ctx.needs_input_grad[:3])
        layer = OutputLayer(weight, bias, dtype, with_gradients)
        grad_features = torch.empty_like(features) if with_gradients else None
        loss = features.new_zeros(())
        tokens = whole_blocks(LOGITS_PER_CHUNK // len(weight))
        for first in range(0, len(features), tokens):
            chunk = slice(first, first + tokens)
            z, rows = layer.logits(features[chunk])  # (tokens, vocabulary)
            loss -= target_term(z, targets[chunk], label_smoothing)
            highest = z.amax(dim=-1, keepdim=True)
            exponentials = z.sub_(highest).exp_()
            total = exponentials.sum(dim=-1, keepdim=True)
            loss += (highest + total.log()).sum()
            if grad_features is not None:
                grad_z = exponentials.div_(total)
                subtract_target_gradient(grad_z, targets[chunk], label_smoothing)
                grad_features[chunk] = layer.backward(grad_z, rows)
        ctx.save_for_backward(grad_features, layer.grad_weight, layer.grad_bias)
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (*(None if each is None else each * grad for each in ctx.saved_tensors), None, None, None)


def target_term(z: Tensor, targets: Tensor, label_smoothing: float) -> Tensor:
    """(1 - s) z[target] + s mean(z), summed over tokens: the part of the loss that is linear in z."""
    term = (1.0 - label_smoothing) * z.gather(1, targets[:, None]).sum()
    return term + label_smoothing / z.shape[1] * z.sum() if label_smoothing else term


def subtract_target_gradient(grad_z: Tensor, targets: Tensor, label_smoothing: float, scale: float = 1.0) -> None:
    """Subtract `scale` times the gradient of `target_term` in place. This comes before grad_z is rounded to bfloat16:
    where the target is nearly certain, the difference is small."""
    if label_smoothing:
        grad_z -= scale * label_smoothing / grad_z.shape[1]
    grad_z[torch.arange(len(grad_z), device=grad_z.device), targets] -= scale * (1.0 - label_smoothing)


class OutputLayer:
    """z = features W^T + b, a chunk of tokens at a time. `backward` sums the gradients of W and b over the chunks."""

    def __init__(self, weight: Tensor, bias: Tensor | None, product_dtype: torch.dtype, with_gradients: bool) -> None:
        self.dtype, self.bias = weight.dtype, bias
        self.weight = weight.to(product_dtype)
        self.grad_weight = torch.zeros_like(weight) if with_gradients else None
        self.grad_bias = torch.zeros_like(bias) if with_gradients and bias is not None else None

    def logits(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(tokens, d_model) -> logits (tokens, vocabulary), and the rows that `backward` takes."""
        rows = padded_rows(features, self.weight.dtype)  # (rows, d_model)
        z = (rows @ self.weight.T)[: len(features)].to(self.dtype)
        if self.bias is not None:
            z += self.bias
        return z, rows

    def backward(self, grad_z: Tensor, rows: Tensor) -> Tensor:
        """The gradient of the logits (tokens, vocabulary) -> that of the features (tokens, d_model)."""
        if self.grad_bias is not None:
            self.grad_bias += grad_z.sum(dim=0)
        grad_rows = padded_rows(grad_z, self.weight.dtype)  # (rows, vocabulary)
        if self.grad_weight is not None:
            if rows.dtype == self.dtype:
                self.grad_weight.addmm_(grad_rows.T, rows)
            else:
                self.grad_weight += grad_rows.T @ rows
        return (grad_rows @ self.weight)[: len(grad_z)]
