"""Alignment by cross-attention, and where each attention head attends to."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pellucid.config import ModelConfig
from pellucid.reference.functions import Array
from pellucid.tracing.trace import ATTENTIONS, Attention, Head


def align(values: Mapping[str, Array], config: ModelConfig) -> Array:
    """Mean weight of all heads of the last but one cross-attention, (target, source): the layer that is known to
    follow the words best; the last one gathers what the next token needs, from wherever it is."""
    layer = max(0, config.decoder_layers - 2)
    return np.asarray(values[f"decoder.layers.{layer}.cross_attention.weights"].mean(axis=0))


def heads(values: Mapping[str, Array], config: ModelConfig) -> tuple[Head, ...]:
    """Every head of every attention of the model."""
    found = []
    for part in ATTENTIONS:
        stack, sublayer = part.split(".")
        for layer in range(config.encoder_layers if stack == "encoder" else config.decoder_layers):
            weights = values[f"{stack}.layers.{layer}.{sublayer}.weights"]  # (heads, query, key)
            found += [describe_head(part, layer, head, weights[head]) for head in range(config.heads)]
    return tuple(found)


def describe_head(part: Attention, layer: int, head: int, weights: Array) -> Head:
    """The mean weights of one head, (query, key), by relative position."""
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    to_itself = part != "decoder.cross_attention"  # in cross-attention queries and keys are different sequences
    return Head(
        part=part,
        layer=layer,
        head=head,
        itself=_diagonal(weights, 0) if to_itself else None,
        previous=_diagonal(weights, -1) if to_itself else None,
        next=_diagonal(weights, 1) if part == "encoder.self_attention" else None,
        first=float(weights[:, 0].mean()),
        end=float(weights[:, -1].mean()) if part != "decoder.self_attention" else None,
        spread=float(np.exp(-(weights * logs).sum(axis=-1).mean())),
    )


def _diagonal(weights: Array, offset: int) -> float | None:
    """Mean weight of the keys `offset` places after their query; None if no query has such a key."""
    diagonal = np.diagonal(weights, offset)
    return float(diagonal.mean()) if diagonal.size else None
