"""R-Drop (Liang et al. 2021): two forward passes with different dropout should predict the same distribution.

Beside the cross-entropy of both passes, the KL divergence between their distributions is minimised. Training takes
longer, and overfits less.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pellucid.nn.mixed_precision import product_dtype, whole_blocks
from pellucid.training.loss.cross_entropy import OutputLayer, subtract_target_gradient, target_term

LOGITS_PER_CHUNK = 2**19  # of one pass: fewer than in plain cross-entropy, as several tensors of this size are held


def r_drop_cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, label_smoothing: float, r_drop: float
) -> Tensor:
    """The mean cross-entropy of both passes, plus r_drop / 4 (KL(p | q) + KL(q | p)), summed over tokens.

    features (2 tokens, d_model): the first pass, then the second; weight (vocabulary, d_model), targets (tokens,). This
    is half of the loss in the paper, so that the cross-entropy has the same scale as without R-Drop.
    """
    dtype = product_dtype(weight)
    with torch.autocast(features.device.type, enabled=False):
        features = features.to(weight.dtype)
        loss: Tensor = _ChunkedRDrop.apply(features, weight, bias, targets, label_smoothing, r_drop, dtype)  # type: ignore[no-untyped-call]
    return loss


class _ChunkedRDrop(torch.autograd.Function):
    """With p = softmax(z) of one pass, q of the other, d = log p - log q and s = r_drop / 4, the loss of a token is

        1/2 cross_entropy(p) + 1/2 cross_entropy(q) + s sum((p - q) d)

    and the gradient of z, without that of the target term,

        p (1/2 + s (1 + d - KL(p | q))) - s q
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        label_smoothing: float,
        r_drop: float,
        dtype: torch.dtype,
    ) -> Tensor:
        scale, layer = r_drop / 4, OutputLayer(weight, bias, dtype, with_gradients=True)
        grad_features = torch.empty_like(features)
        first, second = features.chunk(2)  # each (tokens, d_model)
        grad_first, grad_second = grad_features.chunk(2)
        loss = features.new_zeros(())
        tokens = whole_blocks(LOGITS_PER_CHUNK // len(weight))
        for start in range(0, len(targets), tokens):
            chunk = slice(start, start + tokens)
            z, first_rows = layer.logits(first[chunk])
            y, second_rows = layer.logits(second[chunk])
            log_p, log_q = z.log_softmax(dim=-1), y.log_softmax(dim=-1)  # (tokens, vocabulary)
            del z, y
            loss -= 0.5 * target_term(log_p, targets[chunk], label_smoothing)
            loss -= 0.5 * target_term(log_q, targets[chunk], label_smoothing)
            p, q, d = log_p.exp(), log_q.exp(), log_p.sub_(log_q)
            kl_pq, kl_qp = torch.linalg.vecdot(p, d)[:, None], -torch.linalg.vecdot(q, d)[:, None]  # (tokens, 1)
            loss += scale * (kl_pq + kl_qp).sum()
            d *= scale
            grad_z = (d + (0.5 + scale * (1 - kl_pq))).mul_(p).sub_(q, alpha=scale)
            grad_y = d.neg_().add_(0.5 + scale * (1 - kl_qp)).mul_(q).sub_(p, alpha=scale)
            subtract_target_gradient(grad_z, targets[chunk], label_smoothing, 0.5)
            subtract_target_gradient(grad_y, targets[chunk], label_smoothing, 0.5)
            grad_first[chunk] = layer.backward(grad_z, first_rows)
            grad_second[chunk] = layer.backward(grad_y, second_rows)
        ctx.save_for_backward(grad_features, layer.grad_weight, layer.grad_bias)
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (*(None if each is None else each * grad for each in ctx.saved_tensors), None, None, None, None)
