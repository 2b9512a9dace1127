"""R-Drop (Liang et al. 2021): two passes over the same pairs, each with other parts dropped, should say the same.

What is dropped should not matter to what is predicted. So a model is held to it: beside the loss of either pass, the
distance of their distributions counts. It learns slower, and learns less by heart.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pellucid.nn.linear import factor_type, filled
from pellucid.training.loss import add_product, chunk_rows, pull, pulled

CHUNK = 2**19  # logits of one pass held at a time: fewer than of a plain loss, as several such blocks are needed


def agreeing_cross_entropy(
    first: Tensor,
    second: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    label_smoothing: float,
    r_drop: float,
) -> Tensor:
    """The mean of both passes' cross-entropy, and r_drop / 4 of KL(p1 | p2) + KL(p2 | p1), summed over tokens.

    first, second (tokens, d_model), weight (vocabulary, d_model), targets (tokens,). Half of what the paper writes, so
    that what a token costs but for the disagreement means the same with one pass and with two.
    """
    factors = factor_type(weight)
    with torch.autocast(first.device.type, enabled=False):
        first, second = first.to(weight.dtype), second.to(weight.dtype)
        loss: Tensor = _ChunkedAgreement.apply(first, second, weight, bias, targets, label_smoothing, r_drop, factors)  # type: ignore[no-untyped-call]
    return loss


class _ChunkedAgreement(torch.autograd.Function):
    """With p = softmax(z) of one pass, q of the other, d = log p - log q and s = r_drop / 4, a token's loss is

        1/2 cross_entropy(p) + 1/2 cross_entropy(q) + s sum((p - q) d)

    and the gradient of z, without what pulls it to the target,

        p (1/2 + s (1 + d - KL(p | q))) - s q
    """

    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        second: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        label_smoothing: float,
        r_drop: float,
        factors: torch.dtype,
    ) -> Tensor:
        share, narrow = r_drop / 4, weight.to(factors)
        grad_first, grad_second = torch.empty_like(first), torch.empty_like(second)
        grad_weight = torch.zeros_like(weight)
        grad_bias = None if bias is None else torch.zeros_like(bias)
        loss = first.new_zeros(())
        rows = chunk_rows(CHUNK, len(weight))
        for start in range(0, len(first), rows):
            part = slice(start, start + rows)
            count = len(first[part])
            f, g = filled(first[part], factors), filled(second[part], factors)  # (rows, d_model)
            z, y = ((each @ narrow.T)[:count].to(weight.dtype) for each in (f, g))  # (count, vocabulary)
            if bias is not None:
                z, y = z + bias, y + bias
            log_p, log_q = z.log_softmax(dim=-1), y.log_softmax(dim=-1)
            del z, y
            loss -= 0.5 * pulled(log_p, targets[part], label_smoothing)
            loss -= 0.5 * pulled(log_q, targets[part], label_smoothing)
            p, q, d = log_p.exp(), log_q.exp(), log_p.sub_(log_q)
            forth, back = torch.linalg.vecdot(p, d)[:, None], -torch.linalg.vecdot(q, d)[:, None]  # (rows, 1)
            loss += share * (forth + back).sum()
            d *= share
            grad_z = (d + (0.5 + share * (1 - forth))).mul_(p).sub_(q, alpha=share)
            grad_y = d.neg_().add_(0.5 + share * (1 - back)).mul_(q).sub_(p, alpha=share)
            for grad_logits, features, grad_features in ((grad_z, f, grad_first), (grad_y, g, grad_second)):
                pull(grad_logits, targets[part], label_smoothing, 0.5)
                if grad_bias is not None:
                    grad_bias += grad_logits.sum(dim=0)
                narrow_grad = filled(grad_logits, factors)
                grad_features[part] = (narrow_grad @ narrow)[:count]
                add_product(grad_weight, narrow_grad.T, features)
        ctx.save_for_backward(grad_first, grad_second, grad_weight, grad_bias)
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (*(None if made is None else made * grad for made in ctx.saved_tensors), None, None, None, None)
