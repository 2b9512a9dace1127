"""The three normalisations. `real` (batch, length) is True at real tokens; only batch norm needs it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from pellucid.config import ModelConfig

EPSILON = 1e-5


def make_norm(config: ModelConfig) -> nn.Module:
    match config.norm:
        case "layer":
            return LayerNorm(config.d_model)
        case "rms":
            return RMSNorm(config.d_model)
        case "batch":
            return BatchNorm(config.d_model)


class LayerNorm(nn.Module):
    """(x - mean) / sd * weight + bias over the features of one token."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, EPSILON)


class RMSNorm(nn.Module):
    """x / sqrt(mean of squares) * weight: no mean is subtracted, nothing is added."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return functional.rms_norm(x, self.weight.shape, self.weight, EPSILON)


class BatchNorm(nn.Module):
    """Each feature normalised over the real tokens of the batch; at inference by running statistics of training.

    Its limits, and why the paper does not use it: in training a token's output depends on the other sentences of the
    batch and, in the decoder, on tokens that come later, so the statistics see the future; with few tokens they are
    unreliable. `count_padding` lets padding into the statistics, to show what that does. The running variance divides
    by the number of tokens, as the normalisation itself does (torch's divides by one less).
    """

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, size: int, momentum: float = 0.1, count_padding: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.register_buffer("running_mean", torch.zeros(size))
        self.register_buffer("running_variance", torch.ones(size))
        self.momentum = momentum
        self.count_padding = count_padding

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        if self.training:
            tokens = x.flatten(0, -2) if real is None or self.count_padding else x[real]  # (tokens, size)
            mean, variance = tokens.mean(0), tokens.var(0, correction=0)
            with torch.no_grad():
                self.running_mean.lerp_(mean.detach(), self.momentum)
                self.running_variance.lerp_(variance.detach(), self.momentum)
        else:
            mean, variance = self.running_mean, self.running_variance
        return (x - mean) * torch.rsqrt(variance + EPSILON) * self.weight + self.bias
