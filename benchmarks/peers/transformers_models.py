"""Hugging Face models of the shape of ours.

MarianMT is post-norm only; M2M100, from the same house and much the same code, is pre-norm, and takes the very weights
of our small models.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel, PreTrainedModel

LONGEST = 1024
PARTS = {
    "self_attention": "self_attn",
    "cross_attention": "encoder_attn",
    "query": "q_proj",
    "key": "k_proj",
    "value": "v_proj",
    "output": "out_proj",
    "feed_forward.wide": "fc1",
    "feed_forward.narrow": "fc2",
}


def m2m100(shape: dict[str, Any], directory: Path) -> PreTrainedModel:
    """Our weights under their names."""
    model: PreTrainedModel = M2M100ForConditionalGeneration(
        M2M100Config(**sizes(shape), encoder_layerdrop=0, decoder_layerdrop=0)
    )
    weights = load_file(directory / "model.safetensors")
    named = {"model.shared.weight": weights["source_embedding.weight"]}
    for stack in ("encoder", "decoder"):
        named |= dict(_stack(weights, stack, shape[f"{stack}_layers"]))
    missing, unexpected = model.load_state_dict({name: value.float() for name, value in named.items()}, strict=False)
    tied = {"lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}
    assert not unexpected, unexpected
    assert set(missing) <= tied, missing
    for part in (model.model.encoder, model.model.decoder):
        # Their first position is 1: 0 is that of padding.
        part.embed_positions.weights[1 : LONGEST + 1] = _sinusoids(shape)
    model.train(False)
    return model


def marian(shape: dict[str, Any]) -> PreTrainedModel:
    """Random weights, and an end that never comes: how many steps are made is for the caller to say."""
    torch.manual_seed(1)
    model: PreTrainedModel = MarianMTModel(MarianConfig(**sizes(shape), forced_eos_token_id=None))
    bias: Any = model.final_logits_bias
    bias[0, model.config.eos_token_id] = -1e9
    model.train(False)
    return model


def sizes(shape: dict[str, Any]) -> dict[str, Any]:
    """Our shape in their words."""
    stacks = {
        f"{stack}_{theirs}": shape[ours]
        for stack in ("encoder", "decoder")
        for theirs, ours in (("attention_heads", "heads"), ("ffn_dim", "feed_forward"), ("layers", f"{stack}_layers"))
    }
    return {
        **stacks,
        "vocab_size": shape["vocabulary"],
        "d_model": shape["d_model"],
        "activation_function": shape["activation"],
        "scale_embedding": shape["embedding_scale"],
        "max_position_embeddings": LONGEST,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "decoder_start_token_id": 1,
        "eos_token_id": 2,
    }


def _stack(weights: dict[str, Tensor], stack: str, layers: int) -> Iterator[tuple[str, Tensor]]:
    norms = {"self_attention": "self_attn_layer_norm", "feed_forward": "final_layer_norm"}
    attentions = ["self_attention"]
    if stack == "decoder":
        norms["cross_attention"] = "encoder_attn_layer_norm"
        attentions.append("cross_attention")
    linears = [f"{attention}.{part}" for attention in attentions for part in ("query", "key", "value", "output")]
    for kind in ("weight", "bias"):
        yield f"model.{stack}.layer_norm.{kind}", weights[f"{stack}.norm.{kind}"]
        for layer in range(layers):
            theirs, ours = f"model.{stack}.layers.{layer}", f"{stack}.layers.{layer}"
            for norm, name in norms.items():
                yield f"{theirs}.{name}.{kind}", weights[f"{ours}.{norm}_residual.norm.{kind}"]
            for linear in linears:
                attention, part = linear.split(".")
                yield f"{theirs}.{PARTS[attention]}.{PARTS[part]}.{kind}", weights[f"{ours}.{linear}.{kind}"]
            for linear in ("feed_forward.wide", "feed_forward.narrow"):
                yield f"{theirs}.{PARTS[linear]}.{kind}", weights[f"{ours}.{linear}.{kind}"]


def _sinusoids(shape: dict[str, Any]) -> Tensor:
    """(positions, d_model), in the order of our model."""
    size = shape["d_model"]
    angles = torch.arange(LONGEST)[:, None] * torch.exp(torch.arange(0, size, 2) * (-log(10_000) / size))
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (positions, d_model / 2, 2)
    if shape["position_layout"] == "halves":
        pairs = pairs.transpose(1, 2)
    return pairs.flatten(1)
