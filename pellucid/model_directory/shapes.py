"""Every weight of a model by name and shape: one table for files, engines and counts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from pellucid.config import ModelConfig

Shape = tuple[int, ...]


def weight_shapes(config: ModelConfig) -> dict[str, Shape]:
    """Name -> shape of everything in `model.safetensors`. A tied matrix occurs once, under the first of its names."""
    return dict(chain(_embeddings(config), _stack(config, "encoder"), _stack(config, "decoder"), _output(config)))


def _embeddings(config: ModelConfig) -> Iterator[tuple[str, Shape]]:
    yield "source_embedding.weight", (config.source_tokens, config.d_model)
    if config.tie != "all":
        yield "target_embedding.weight", (config.target_tokens, config.d_model)


def _output(config: ModelConfig) -> Iterator[tuple[str, Shape]]:
    if config.tie == "none":
        yield "output.weight", (config.target_tokens, config.d_model)
    if config.output_bias:
        yield "output.bias", (config.target_tokens,)


def _stack(config: ModelConfig, stack: str) -> Iterator[tuple[str, Shape]]:
    if config.positions == "learned":
        yield f"{stack}.input.positions.weight", (config.max_length, config.d_model)
    if config.embedding_norm:
        yield from _norm(config, f"{stack}.input.norm")
    decoder = stack == "decoder"
    attentions = ("self_attention", "cross_attention") if decoder else ("self_attention",)
    for layer in range(config.decoder_layers if decoder else config.encoder_layers):
        for sublayer in (*attentions, "feed_forward"):
            name = f"{stack}.layers.{layer}.{sublayer}"
            yield from _feed_forward(config, name) if sublayer == "feed_forward" else _attention(config, name)
            yield from _norm(config, f"{name}_residual.norm")
    if config.norm_place == "pre":
        yield from _norm(config, f"{stack}.norm")


def _attention(config: ModelConfig, name: str) -> Iterator[tuple[str, Shape]]:
    narrow = config.key_heads * config.d_head
    for part, size in (("query", config.d_model), ("key", narrow), ("value", narrow), ("output", config.d_model)):
        yield from _linear(config, f"{name}.{part}", size, config.d_model)


def _feed_forward(config: ModelConfig, name: str) -> Iterator[tuple[str, Shape]]:
    yield from _linear(config, f"{name}.wide", config.feed_forward, config.d_model)
    if config.activation == "swiglu":
        yield from _linear(config, f"{name}.gate", config.feed_forward, config.d_model)
    yield from _linear(config, f"{name}.narrow", config.d_model, config.feed_forward)


def _linear(config: ModelConfig, name: str, size_out: int, size_in: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (size_out, size_in)
    if config.bias:
        yield f"{name}.bias", (size_out,)


def _norm(config: ModelConfig, name: str) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (config.d_model,)
    if config.norm != "rms":
        yield f"{name}.bias", (config.d_model,)
    if config.norm == "batch":
        yield f"{name}.running_mean", (config.d_model,)
        yield f"{name}.running_variance", (config.d_model,)
