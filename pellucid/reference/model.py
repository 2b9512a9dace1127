"""The whole model in NumPy float64, written to be read beside the paper: slow, plain, and the oracle of every engine.

Each intermediate value passes through a tap under its name, the same names as those of `pellucid.nn`. A tap may record
the value, or return another in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid.config import ModelConfig
from pellucid.model_directory import ModelDirectory
from pellucid.reference import functions as f
from pellucid.reference.cache import Cache
from pellucid.reference.functions import Array, Mask
from pellucid.reference.taps import Tap, no_tap, within
from pellucid.text.ids import check_ids, check_length


class Transformer:
    """Encoder and decoder, from a config and its weights (the names of `model.safetensors`)."""

    def __init__(self, config: ModelConfig, weights: Mapping[str, NDArray[np.floating]]) -> None:
        self.config = config
        self.weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}

    @classmethod
    def load(cls, directory: ModelDirectory | str | Path) -> Self:
        """The model of a model directory."""
        directory = ModelDirectory.at(directory)
        return cls(directory.config, directory.weights())

    # --- the model -------------------------------------------------------------------------------------------------

    def encode(self, source: ArrayLike, source_real: ArrayLike, tap: Tap = no_tap) -> Array:
        """Source ids (batch, source) -> memory (batch, source, d_model)."""
        source, real = np.asarray(source), np.asarray(source_real, np.bool_)
        check_ids("source", source, self.config.source_tokens)
        tap = within(tap, "encoder")
        x = self._input("encoder", self._embed("source", source), 0, tap)
        angles = self._angles(0, source.shape[1], tap)
        visible = real[:, None, None, :]  # (batch, 1, 1, source): every query sees every real token
        for layer in range(self.config.encoder_layers):
            name, inner = f"encoder.layers.{layer}", within(tap, f"layers.{layer}")
            x, _, _ = self._self_attention(name, x, visible, angles, inner)
            x = self._feed_forward(name, x, inner)
        return self._output_norm("encoder", x, tap)

    def decode(self, target_in: ArrayLike, memory: ArrayLike, source_real: ArrayLike, tap: Tap = no_tap) -> Array:
        """The whole shifted target at once under the causal mask: logits (batch, target, vocabulary)."""
        target, memory = np.asarray(target_in), np.asarray(memory, np.float64)
        check_ids("target", target, self.config.target_tokens)
        outer, tap = tap, within(tap, "decoder")
        x = self._input("decoder", self._embed("target", target), 0, tap)
        angles = self._angles(0, target.shape[1], tap)
        visible = f.causal(target.shape[1])[None, None]  # (1, 1, target, target)
        source_visible = np.asarray(source_real, np.bool_)[:, None, None, :]  # (batch, 1, 1, source)
        for layer in range(self.config.decoder_layers):
            name, inner = f"decoder.layers.{layer}", within(tap, f"layers.{layer}")
            x, _, _ = self._self_attention(name, x, visible, angles, inner)
            x = self._cross_attention(name, x, *self._memory_keys_values(name, memory), source_visible, inner)
            x = self._feed_forward(name, x, inner)
        return self._logits(self._output_norm("decoder", x, tap), outer)

    def forward(self, source: ArrayLike, source_real: ArrayLike, target_in: ArrayLike, tap: Tap = no_tap) -> Array:
        """Both stacks: logits (batch, target, vocabulary)."""
        return self.decode(target_in, self.encode(source, source_real, tap), source_real, tap)

    def start(self, memory: ArrayLike, source_real: ArrayLike) -> Cache:
        """The cache before the first step: one empty hypothesis a sentence."""
        memory, real = np.asarray(memory, np.float64), np.asarray(source_real, np.bool_)
        names = [f"decoder.layers.{layer}" for layer in range(self.config.decoder_layers)]
        keys, values = zip(*(self._memory_keys_values(name, memory) for name in names), strict=True)
        empty = [np.zeros((len(memory), 1, self.config.key_heads, 0, self.config.d_head))] * len(names)
        return Cache(list(keys), list(values), real[:, None, None, :], empty, empty)

    def step(self, tokens: ArrayLike, cache: Cache, tap: Tap = no_tap) -> tuple[Array, Cache]:
        """One token a hypothesis: (sentences, beam) -> logits (sentences, beam, vocabulary) and the longer cache."""
        tokens = np.asarray(tokens)
        check_ids("target", tokens, self.config.target_tokens)
        sentences, beam = tokens.shape
        outer, tap = tap, within(tap, "decoder")
        ids = tokens.reshape(sentences * beam, 1)  # each hypothesis is a row of one token
        x = self._input("decoder", self._embed("target", ids), cache.length, tap)
        angles = self._angles(cache.length, 1, tap)
        all_keys, all_values = [], []
        for layer in range(self.config.decoder_layers):
            name, inner = f"decoder.layers.{layer}", within(tap, f"layers.{layer}")
            # (sentences, beam, key heads, so far, d_head) -> (sentences * beam, key heads, so far, d_head)
            rows = (sentences * beam, *cache.keys[layer].shape[2:])
            past = cache.keys[layer].reshape(rows), cache.values[layer].reshape(rows)
            x, keys, values = self._self_attention(name, x, None, angles, inner, *past)
            all_keys.append(keys.reshape(sentences, beam, *keys.shape[1:]))
            all_values.append(values.reshape(sentences, beam, *values.shape[1:]))
            x = x.reshape(sentences, beam, self.config.d_model)  # the beam is the query axis of cross-attention
            memory = cache.memory_keys[layer], cache.memory_values[layer]
            x = self._cross_attention(name, x, *memory, cache.memory_keep, inner)
            x = self._feed_forward(name, x, inner)
            x = x.reshape(sentences * beam, 1, self.config.d_model)
        x = x.reshape(sentences, beam, self.config.d_model)
        logits = self._logits(self._output_norm("decoder", x, tap), outer)
        return logits, replace(cache, keys=all_keys, values=all_values)

    def lens(self, x: ArrayLike, tap: Tap = no_tap) -> Array:
        """The logits that the output makes of what any decoder layer hands on: what that layer would have said."""
        return self._logits(self._output_norm("decoder", np.asarray(x, np.float64), within(tap, "decoder")), tap)

    # --- parts -----------------------------------------------------------------------------------------------------

    def _embed(self, side: str, ids: NDArray[np.integer]) -> Array:
        """Rows of the embedding, times sqrt(d_model): (batch, length, d_model)."""
        name = "source" if self.config.tie == "all" else side
        scale = np.sqrt(self.config.d_model) if self.config.embedding_scale else 1.0
        embedded: Array = self.weights[f"{name}_embedding.weight"][ids] * scale
        return embedded

    def _input(self, stack: str, embedded: Array, start: int, tap: Tap) -> Array:
        """Embedding plus position, from position `start` on: what the first layer sees."""
        tap = within(tap, "input")
        x = tap("embedding", embedded)
        end = start + embedded.shape[1]
        check_length(end, self.config)
        table: Array | None = None
        if self.config.positions == "learned":
            table = self.weights[f"{stack}.input.positions.weight"]
        elif self.config.positions == "sinusoidal":
            table = f.sinusoidal(end, self.config.d_model, self.config.position_layout)
        if table is not None:
            x = x + tap("position", table[start:end])
        if self.config.embedding_norm:
            x = self._norm(f"{stack}.input.norm", x)
        return tap("output", x)

    def _angles(self, start: int, length: int, tap: Tap) -> Array | None:
        """By how much rotary positions turn each pair of features: (length, d_head / 2)."""
        if self.config.positions != "rotary":
            return None
        return tap("angles", f.angles(np.arange(start, start + length), self.config.d_head))

    def _queries_keys_values(self, name: str, x: Array, angles: Array | None) -> tuple[Array, Array, Array]:
        """Projections of a sequence, turned by their positions if these are rotary: (batch, heads, length, d_head)."""
        query = f.split_heads(self._linear(f"{name}.query", x), self.config.heads)
        key = f.split_heads(self._linear(f"{name}.key", x), self.config.key_heads)
        value = f.split_heads(self._linear(f"{name}.value", x), self.config.key_heads)
        if angles is not None:
            query = f.turn(query, angles, self.config.position_layout)
            key = f.turn(key, angles, self.config.position_layout)
        return query, key, value

    def _memory_keys_values(self, name: str, memory: Array) -> tuple[Array, Array]:
        """What cross-attention looks up, computed once a sentence: (batch, key heads, source, d_head)."""
        key = self._linear(f"{name}.cross_attention.key", memory)
        value = self._linear(f"{name}.cross_attention.value", memory)
        return f.split_heads(key, self.config.key_heads), f.split_heads(value, self.config.key_heads)

    def _attend(self, name: str, query: Array, key: Array, value: Array, keep: Mask | None, tap: Tap) -> Array:
        """Attention of all heads, joined and projected: (batch, query, d_model)."""
        query, key, value = tap("query", query), tap("key", key), tap("value", value)
        group = self.config.heads // self.config.key_heads  # so many query heads share a head of keys and values
        key, value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)
        products = tap("products", f.attention_scores(query, key))
        scores = tap("scores", f.masked(products, keep))
        weights = tap("weights", f.softmax(scores))
        heads = tap("heads", weights @ value)
        return tap("output", self._linear(f"{name}.output", f.join_heads(heads)))

    def _self_attention(
        self, name: str, x: Array, keep: Mask | None, angles: Array | None, tap: Tap, *past: Array
    ) -> tuple[Array, Array, Array]:
        """The sequence looks at itself, and at the `past` keys and values of earlier steps; returns these, longer."""
        place, residual = f"{name}.self_attention", f"{name}.self_attention_residual"
        h = self._before(residual, x, tap)
        query, key, value = self._queries_keys_values(place, h, angles)
        if past:
            # (batch, key heads, target so far, d_head) and the new ones behind them
            key, value = np.concatenate([past[0], key], axis=2), np.concatenate([past[1], value], axis=2)
        output = self._attend(place, query, key, value, keep, within(tap, "self_attention"))
        return self._after(residual, x, output, tap), key, value

    def _cross_attention(self, name: str, x: Array, key: Array, value: Array, keep: Mask, tap: Tap) -> Array:
        """Queries from the decoder; keys and values from the top of the encoder."""
        place, residual = f"{name}.cross_attention", f"{name}.cross_attention_residual"
        h = self._before(residual, x, tap)
        query = f.split_heads(self._linear(f"{place}.query", h), self.config.heads)
        output = self._attend(place, query, key, value, keep, within(tap, "cross_attention"))
        return self._after(residual, x, output, tap)

    def _feed_forward(self, name: str, x: Array, tap: Tap) -> Array:
        """activation(x W1 + b1) W2 + b2, position by position; swiglu: (silu(x W1 + b1) * (x W3 + b3)) W2 + b2."""
        place, residual = f"{name}.feed_forward", f"{name}.feed_forward_residual"
        h = self._before(residual, x, tap)
        activation = {"relu": f.relu, "gelu": f.gelu, "silu": f.silu, "swiglu": f.silu}[self.config.activation]
        hidden = activation(self._linear(f"{place}.wide", h))
        if self.config.activation == "swiglu":
            hidden = hidden * self._linear(f"{place}.gate", h)
        hidden = tap("feed_forward.hidden", hidden)
        output = tap("feed_forward.output", self._linear(f"{place}.narrow", hidden))
        return self._after(residual, x, output, tap)

    def _before(self, name: str, x: Array, tap: Tap) -> Array:
        """What a sublayer reads: x itself (post-norm, as in the paper) or norm(x) (pre-norm)."""
        if self.config.norm_place == "post":
            return x
        return within(tap, name.rsplit(".", 1)[-1])("norm", self._norm(f"{name}.norm", x))

    def _after(self, name: str, x: Array, output: Array, tap: Tap) -> Array:
        """norm(x + sublayer(x)) as in the paper, or x + sublayer(norm(x))."""
        tap = within(tap, name.rsplit(".", 1)[-1])
        total = tap("sum", x + output)
        return total if self.config.norm_place == "pre" else tap("norm", self._norm(f"{name}.norm", total))

    def _norm(self, name: str, x: Array) -> Array:
        gamma = self.weights[f"{name}.weight"]
        if self.config.norm == "rms":
            return f.rms_norm(x, gamma)
        beta = self.weights[f"{name}.bias"]
        if self.config.norm == "layer":
            return f.layer_norm(x, gamma, beta)
        mean, variance = self.weights[f"{name}.running_mean"], self.weights[f"{name}.running_variance"]
        return f.batch_norm(x, mean, variance, gamma, beta)

    def _output_norm(self, stack: str, x: Array, tap: Tap) -> Array:
        """Pre-norm leaves the last sum unnormalised, so the stack ends with a norm of its own."""
        if self.config.norm_place == "pre":
            x = self._norm(f"{stack}.norm", x)
        return tap("output", x)

    def _logits(self, x: Array, tap: Tap) -> Array:
        """Scores over the vocabulary, by the embedding itself when it is tied."""
        name = {"all": "source_embedding", "decoder": "target_embedding", "none": "output"}[self.config.tie]
        logits = f.linear(x, self.weights[f"{name}.weight"], self.weights.get("output.bias"))
        return tap("output.logits", logits)

    def _linear(self, name: str, x: Array) -> Array:
        return f.linear(x, self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias"))
