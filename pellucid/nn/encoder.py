"""The encoder: layers of self-attention and feed-forward over the whole source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

from torch import Tensor, nn

from pellucid.config import ModelConfig
from pellucid.nn.attention import MultiHeadAttention
from pellucid.nn.embedding import Input
from pellucid.nn.feed_forward import FeedForward
from pellucid.nn.masks import padding
from pellucid.nn.norms import make_norm
from pellucid.nn.positions import Rotation, angles
from pellucid.nn.residual import Residual
from pellucid.nn.taps import Tapped

Layer = TypeVar("Layer", bound=nn.Module)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with its residual connection."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, real: Tensor, keep: Tensor, rotation: Rotation | None) -> Tensor:
        h = self.self_attention_residual.before(x, real)
        query, key, value = self.self_attention.queries_keys_values(h, rotation)
        x = self.self_attention_residual.after(x, self.self_attention.attend(query, key, value, keep), real)
        h = self.feed_forward_residual.before(x, real)
        return self.feed_forward_residual.after(x, self.feed_forward(h), real)


class Encoder(Tapped):
    """Embedded source (batch, source, d_model) -> memory of the same shape."""

    tap_names: tuple[str, ...] = ("output",)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.input = Input(config)
        self.layers = layers_of(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.norm = make_norm(config) if config.norm_place == "pre" else None
        if config.positions == "rotary":
            self.tap_names = ("angles", "output")

    def forward(self, embedded: Tensor, real: Tensor) -> Tensor:
        x: Tensor = self.input(embedded, real=real)
        keep, rotation = padding(real), rotation_of(self, self.config, 0, x)
        for layer in self.layers:
            x = layer(x, real, keep, rotation)
        if self.norm is not None:
            x = self.norm(x, real)
        return self.show("output", x)


def layers_of(layers: Iterable[Layer]) -> list[Layer]:
    """An `nn.ModuleList`, typed as the list of layers that it is."""
    return cast(list[Layer], nn.ModuleList(layers))


def rotation_of(stack: Tapped, config: ModelConfig, start: int, x: Tensor) -> Rotation | None:
    """The rotation of the positions of x (batch, length, d_model), the first of them `start`."""
    if config.positions != "rotary":
        return None
    angle = stack.show("angles", angles(start, start + x.shape[1], config.d_head))
    return Rotation.of(angle, config.position_layout, x)
