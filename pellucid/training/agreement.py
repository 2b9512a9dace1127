"""R-Drop (Liang et al. 2021): two passes over the same pairs, each with other parts dropped, should say the same.

What is dropped should not matter to what is predicted. So a model is held to it: beside the loss of either pass, the
distance of their distributions counts. It learns slower, and learns less by heart.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pellucid.training.loss import add_linear_gradients, add_product, factor_type, linear_part

CHUNK = 2**19  # logits of one pass held at a time: fewer than of a plain loss, as six such blocks are needed


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
    that a loss a token means the same with one pass and with two.
    """
    factors = factor_type(weight)
    with torch.autocast(first.device.type, enabled=False):
        first, second = first.to(weight.dtype), second.to(weight.dtype)
        loss: Tensor = _ChunkedAgreement.apply(first, second, weight, bias, targets, label_smoothing, r_drop, factors)  # type: ignore[no-untyped-call]
    return loss


class _ChunkedAgreement(torch.autograd.Function):
    """With p = softmax(z) of one pass, q of the other, d = log p - log q and s = r_drop / 4, a token's loss is

        1/2 cross_entropy(p) + 1/2 cross_entropy(q) + s sum((p - q) d)

    and the gradient of z, without what is linear in it (see `cross_entropy`),

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
        total = first.new_zeros(())
        rows = max(1, CHUNK // len(weight))
        for start in range(0, len(first), rows):
            part = slice(start, start + rows)
            f, g = first[part].to(factors), second[part].to(factors)  # (rows, d_model)
            z, y = (f @ narrow.T).to(weight.dtype), (g @ narrow.T).to(weight.dtype)  # (rows, vocabulary)
            if bias is not None:
                z, y = z + bias, y + bias
            log_p, log_q = z.log_softmax(dim=-1), y.log_softmax(dim=-1)
            # z - log p is log sum exp z, whatever the column
            total += 0.5 * (z[:, 0] - log_p[:, 0] + y[:, 0] - log_q[:, 0]).sum()
            p, q, d = log_p.exp(), log_q.exp(), log_p.sub_(log_q)
            forth, back = torch.linalg.vecdot(p, d)[:, None], -torch.linalg.vecdot(q, d)[:, None]  # (rows, 1)
            total += share * (forth + back).sum()
            d *= share
            grad_z = (d + (0.5 + share * (1 - forth))).mul_(p).sub_(q, alpha=share)
            grad_y = d.neg_().add_(0.5 + share * (1 - back)).mul_(q).sub_(p, alpha=share)
            if grad_bias is not None:
                grad_bias += grad_z.sum(dim=0) + grad_y.sum(dim=0)
            grad_z, grad_y = grad_z.to(factors), grad_y.to(factors)
            grad_first[part], grad_second[part] = grad_z @ narrow, grad_y @ narrow
            add_product(grad_weight, grad_z.T, f)
            add_product(grad_weight, grad_y.T, g)
        for features, grad_features in ((first, grad_first), (second, grad_second)):
            total -= 0.5 * linear_part(features, weight, bias, targets, label_smoothing)
            add_linear_gradients(features, weight, targets, label_smoothing, 0.5, grad_features, grad_weight, grad_bias)
        ctx.save_for_backward(grad_first, grad_second, grad_weight, grad_bias)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (*(None if made is None else made * grad for made in ctx.saved_tensors), None, None, None, None)
