"""The decoder: masked self-attention, cross-attention to the encoder's output, feed-forward."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pellucid.config import ModelConfig
from pellucid.nn.attention import MultiHeadAttention
from pellucid.nn.cache import Cache
from pellucid.nn.embedding import Input
from pellucid.nn.encoder import layers_of, rotation_of
from pellucid.nn.feed_forward import FeedForward
from pellucid.nn.masks import causal, padding
from pellucid.nn.norms import make_norm
from pellucid.nn.positions import Rotation
from pellucid.nn.residual import Residual
from pellucid.nn.taps import Tapped


class DecoderLayer(nn.Module):
    """Self-attention to the target so far, cross-attention to the source, feed-forward, each with its residual."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_residual = Residual(config)
        self.cross_attention = MultiHeadAttention(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        real: Tensor | None,
        keep: Tensor,
        memory: tuple[Tensor, Tensor],
        memory_keep: Tensor,
        rotation: Rotation | None,
    ) -> Tensor:
        """The whole target at once: (batch, target, d_model)."""
        h = self.self_attention_residual.before(x, real)
        query, key, value = self.self_attention.queries_keys_values(h, rotation)
        x = self.self_attention_residual.after(x, self.self_attention.attend(query, key, value, keep), real)
        return self._cross_attention_and_feed_forward(x, real, memory, memory_keep)

    def step(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor],
        memory: tuple[Tensor, Tensor],
        memory_keep: Tensor,
        rotation: Rotation | None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One token of every hypothesis: (sentences, beam, d_model); returns also the longer keys and values."""
        sentences, beam = x.shape[:2]
        h = self.self_attention_residual.before(x).flatten(0, 1)[:, None]  # (sentences * beam, 1, d_model)
        query, *new = self.self_attention.queries_keys_values(h, rotation)
        # old keys and the new one behind them: (sentences * beam, key heads, so far + 1, d_head)
        key, value = (torch.cat([old.flatten(0, 1), fresh], dim=2) for old, fresh in zip(past, new, strict=True))
        # (sentences * beam, 1, d_model) -> (sentences, beam, d_model)
        output = self.self_attention.attend(query, key, value, None).view(sentences, beam, -1)
        x = self.self_attention_residual.after(x, output)
        # the beam is the query axis: memory is never copied
        x = self._cross_attention_and_feed_forward(x, None, memory, memory_keep)
        # (sentences, beam, key heads, so far + 1, d_head)
        return x, (key.view(sentences, beam, *key.shape[1:]), value.view(sentences, beam, *value.shape[1:]))

    def _cross_attention_and_feed_forward(
        self, x: Tensor, real: Tensor | None, memory: tuple[Tensor, Tensor], memory_keep: Tensor
    ) -> Tensor:
        """Cross-attention, then feed-forward."""
        query = self.cross_attention.queries(self.cross_attention_residual.before(x, real))
        output = self.cross_attention.attend(query, *memory, memory_keep)
        x = self.cross_attention_residual.after(x, output, real)
        h = self.feed_forward_residual.before(x, real)
        return self.feed_forward_residual.after(x, self.feed_forward(h), real)


class Decoder(Tapped):
    """Embedded target (batch, target, d_model) and memory -> features (batch, target, d_model)."""

    tap_names: tuple[str, ...] = ("output",)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.input = Input(config)
        self.layers = layers_of(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.norm = make_norm(config) if config.norm_place == "pre" else None
        if config.positions == "rotary":
            self.tap_names = ("angles", "output")

    def forward(self, embedded: Tensor, real: Tensor | None, memory: Tensor, source_real: Tensor) -> Tensor:
        """The whole shifted target at once, under the causal mask."""
        x = self.input(embedded, real=real)
        keep, memory_keep = causal(x.shape[1], x.device), padding(source_real)
        rotation = rotation_of(self, self.config, 0, x)
        for layer in self.layers:
            x = layer(x, real, keep, layer.cross_attention.keys_values(memory), memory_keep, rotation)
        return self._finish(x, real)

    def start(self, memory: Tensor, source_real: Tensor) -> Cache:
        """The cache before the first step: one empty hypothesis per sentence."""
        empty = memory.new_zeros(len(memory), 1, self.config.key_heads, 0, self.config.d_head)
        keys_values = [layer.cross_attention.keys_values(memory) for layer in self.layers]
        return Cache(keys_values, padding(source_real), [(empty, empty)] * len(self.layers))

    def step(self, embedded: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """(sentences, beam, d_model) -> features of the same shape, and the longer cache."""
        sentences, beam, d_model = embedded.shape
        rows = embedded.view(sentences * beam, 1, d_model)  # each hypothesis is a row of one token
        rotation = rotation_of(self, self.config, cache.length, rows)
        x = self.input(rows, cache.length).view(sentences, beam, d_model)  # side by side again
        past = []
        for layer, old, memory in zip(self.layers, cache.past, cache.memory, strict=True):
            x, longer = layer.step(x, old, memory, cache.memory_keep, rotation)
            past.append(longer)
        return self._finish(x, None), Cache(cache.memory, cache.memory_keep, past)

    def _finish(self, x: Tensor, real: Tensor | None) -> Tensor:
        if self.norm is not None:
            x = self.norm(x, real)
        return self.show("output", x)
