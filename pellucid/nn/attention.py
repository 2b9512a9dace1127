"""Attention: one pure function. The module around it only projects."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor

from pellucid.config import ModelConfig
from pellucid.nn.dropout import Dropout
from pellucid.nn.linear import Linear
from pellucid.nn.mixed_precision import fused_attention, linear
from pellucid.nn.positions import Rotation
from pellucid.nn.taps import Tapped


def attention_scores(q: Tensor, k: Tensor, keep: Tensor | None = None) -> Tensor:
    """Q K^T / sqrt(d_k), and -inf where a query may not attend to a key: (batch, heads, query, key)."""
    return masked(q @ k.transpose(-2, -1) / sqrt(q.shape[-1]), keep)


def masked(scores: Tensor, keep: Tensor | None) -> Tensor:
    """-inf where a query may not attend to a key."""
    return scores if keep is None else scores.masked_fill(~keep, float("-inf"))


def attention_weights(scores: Tensor, keep: Tensor | None = None) -> Tensor:
    """softmax over the keys; a query that may see none has weights of zero, not NaN."""
    weights = scores.softmax(dim=-1)
    return weights if keep is None else weights.masked_fill(~keep, 0.0)


def attention(q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """softmax(Q K^T / sqrt(d_k)) V and the weights.

    q, k, v are (batch, heads, length, head size); `keep` is boolean, True = may attend, and broadcasts to
    (batch, heads, query, key).
    """
    weights = attention_weights(attention_scores(q, k, keep), keep)
    return weights @ v, weights


class MultiHeadAttention(Tapped):
    """Heads of size d_model / heads side by side, joined and projected. Fewer key heads: groups of queries share."""

    tap_names = ("query", "key", "value", "products", "scores", "weights", "heads", "output")

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.key_heads = config.heads, config.key_heads
        narrow = config.key_heads * config.d_head
        self.query = Linear(config.d_model, config.d_model, config.bias)
        self.key = Linear(config.d_model, narrow, config.bias)
        self.value = Linear(config.d_model, narrow, config.bias)
        self.output = Linear(config.d_model, config.d_model, config.bias)
        self.dropout = Dropout(config.attention_dropout)

    def queries_keys_values(self, x: Tensor, rotation: Rotation | None) -> tuple[Tensor, Tensor, Tensor]:
        """Q, K and V of one sequence: (batch, heads, length, d_head) each, turned if positions are rotary."""
        query, key, value = _project(x, self.query, self.key, self.value)
        query, key = self._split(query, self.heads), self._split(key, self.key_heads)
        if rotation is not None:
            query, key = rotation.turn(query), rotation.turn(key)
        return query, key, self._split(value, self.key_heads)

    def queries(self, x: Tensor) -> Tensor:
        """Q alone, for cross-attention: (batch, heads, length, d_head)."""
        return self._split(self.query(x), self.heads)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """K and V of the encoder's output, computed once per sentence: (batch, key heads, source, d_head)."""
        key, value = _project(memory, self.key, self.value)
        return self._split(key, self.key_heads), self._split(value, self.key_heads)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
        """All heads at once, joined and projected: (batch, query, d_model)."""
        query, key, value = self.show("query", query), self.show("key", key), self.show("value", value)
        if self.key_heads < self.heads:
            group = self.heads // self.key_heads
            key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
        if self.tap is None and not (self.training and self.dropout.probability):
            heads = fused_attention(query, key, value, keep)
        else:
            heads = self._explicit(query, key, value, keep)
        # (batch, heads, query, d_head) -> (batch, query, d_model)
        return self.show("output", self.output(heads.transpose(1, 2).flatten(2)))

    def _explicit(self, query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
        """The formula step by step, for taps and for dropout of the weights, which the fused kernel does slowly."""
        products = self.show("products", attention_scores(query, key))
        scores = self.show("scores", masked(products, keep))
        # The scores, which a tap may have changed, say who may be attended to.
        weights = self.show("weights", attention_weights(scores, None if keep is None else scores > float("-inf")))
        return self.show("heads", self.dropout(weights) @ value)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        """(batch, length, heads * d_head) -> (batch, heads, length, d_head)."""
        return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def _project(x: Tensor, *maps: Linear) -> tuple[Tensor, ...]:
    """Several linear maps of one input as one matrix product, which a CPU does faster than several narrow ones."""
    weight = torch.cat(tuple(each.weight for each in maps))
    biases = tuple(each.bias for each in maps if each.bias is not None)
    projected = linear(x, weight, torch.cat(biases) if biases else None)
    # (..., out of all) -> (..., out) of each
    return torch.split(projected, [each.out_features for each in maps], dim=-1)
