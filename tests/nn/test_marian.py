"""A whole model against an independent one: Marian as Hugging Face writes it, randomly initialised, weights copied."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import MarianConfig, MarianMTModel

from pellucid.config import ModelConfig
from pellucid.nn import Transformer
from pellucid.nn.attention import MultiHeadAttention
from pellucid.nn.decoder import DecoderLayer
from pellucid.nn.encoder import EncoderLayer

ConfigOf = Callable[..., ModelConfig]

# Marian is post-norm, its sinusoids fill two halves, source, target and output share one matrix, the logits have a
# bias, and no norm ends a stack. `swish` is its word for silu.
ACTIVATIONS = {"relu": "relu", "silu": "swish"}


def marian(activation: str, scale: bool) -> MarianMTModel:
    torch.manual_seed(12)
    config = MarianConfig(
        vocab_size=19,
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_position_embeddings=32,
        activation_function=ACTIVATIONS[activation],
        scale_embedding=scale,
        init_std=0.3,
        pad_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    peer = MarianMTModel(config)
    with torch.no_grad():
        for name, parameter in peer.named_parameters():
            if "layer_norm" in name or name.endswith("bias"):
                parameter.add_(torch.randn_like(parameter) * 0.2)
        peer.final_logits_bias.normal_()
    peer.train(False)
    return peer


def copy(mine: nn.Module, peer: nn.Module) -> None:
    mine.load_state_dict(peer.state_dict())


def copy_attention(mine: MultiHeadAttention, peer: nn.Module) -> None:
    for name, theirs in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj"), ("output", "out_proj")):
        copy(mine.get_submodule(name), peer.get_submodule(theirs))


def copy_model(mine: Transformer, peer: MarianMTModel) -> None:
    with torch.no_grad():
        mine.source_embedding.weight.copy_(peer.model.shared.weight)
        assert mine.output.bias is not None
        mine.output.bias.copy_(peer.final_logits_bias[0])
    layers: list[EncoderLayer | DecoderLayer] = [*mine.encoder.layers, *mine.decoder.layers]
    peers = [*peer.model.encoder.layers, *peer.model.decoder.layers]
    for layer, theirs in zip(layers, peers, strict=True):
        copy_attention(layer.self_attention, theirs.self_attn)
        copy(layer.self_attention_residual.norm, theirs.self_attn_layer_norm)
        copy(layer.feed_forward.wide, theirs.fc1)
        copy(layer.feed_forward.narrow, theirs.fc2)
        copy(layer.feed_forward_residual.norm, theirs.final_layer_norm)
    for layer, theirs in zip(mine.decoder.layers, peer.model.decoder.layers, strict=True):
        copy_attention(layer.cross_attention, theirs.encoder_attn)
        copy(layer.cross_attention_residual.norm, theirs.encoder_attn_layer_norm)


def batch() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(13)
    real = torch.arange(7) < torch.tensor([7, 3, 5])[:, None]
    source = torch.randint(3, 19, (3, 7), generator=generator) * real
    return source, real, torch.randint(1, 19, (3, 6), generator=generator)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("scale", [True, False])
def test_marian(activation: str, scale: bool, config_of: ConfigOf) -> None:
    peer = marian(activation, scale)
    config = config_of(
        position_layout="halves", activation=activation, output_bias=True, embedding_scale=scale, vocabulary=19
    )
    mine = Transformer(config).eval()
    copy_model(mine, peer)
    source, real, target_in = batch()
    with torch.no_grad():
        expected = peer(input_ids=source, attention_mask=real.long(), decoder_input_ids=target_in)
        memory = mine.encode(source, real)
        logits = mine.decode(target_in, memory, real)
    np.testing.assert_allclose(memory[real], expected.encoder_last_hidden_state[real], atol=1e-5)
    np.testing.assert_allclose(logits, expected.logits, atol=1e-5)
