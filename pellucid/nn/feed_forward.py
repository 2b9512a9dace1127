"""The feed-forward part: d_model -> wider -> d_model, each position for itself."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from pellucid.config import ModelConfig
from pellucid.nn.dropout import Dropout
from pellucid.nn.linear import Linear
from pellucid.nn.taps import Tapped

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "swiglu": functional.silu,
}


class FeedForward(Tapped):
    """activation(x W1 + b1) W2 + b2; with swiglu, silu(x W1 + b1) is multiplied by a gate x W3 + b3."""

    tap_names = ("hidden", "output")

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.wide = Linear(config.d_model, config.feed_forward, config.bias)
        self.narrow = Linear(config.feed_forward, config.d_model, config.bias)
        gated = config.activation == "swiglu"
        self.gate = Linear(config.d_model, config.feed_forward, config.bias) if gated else None
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.activation(self.wide(x))
        if self.gate is not None:
            hidden = hidden * self.gate(x)
        hidden = self.show("hidden", hidden)
        return self.show("output", self.narrow(self.dropout(hidden)))
