"""Layers and whole stacks against torch's own, weights copied over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pellucid.config import ModelConfig
from pellucid.nn import Transformer
from pellucid.nn.attention import MultiHeadAttention
from pellucid.nn.decoder import DecoderLayer
from pellucid.nn.encoder import EncoderLayer
from pellucid.nn.masks import causal, padding

ConfigOf = Callable[..., ModelConfig]
Function = Literal["relu", "gelu"]
PLACES = pytest.mark.parametrize("norm_place", ["pre", "post"])
ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu"])


def randomise(layer: nn.Module) -> None:
    """Norms and biases too, so that a forgotten one shows."""
    generator = torch.Generator().manual_seed(6)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)


def copy(mine: nn.Module, peer: nn.Module) -> None:
    mine.load_state_dict(peer.state_dict())


def copy_attention(mine: MultiHeadAttention, peer: nn.MultiheadAttention) -> None:
    weights, biases = peer.in_proj_weight.chunk(3), peer.in_proj_bias.chunk(3)
    for linear, weight, bias in zip((mine.query, mine.key, mine.value), weights, biases, strict=True):
        linear.load_state_dict({"weight": weight, "bias": bias})
    copy(mine.output, peer.out_proj)


def copy_encoder_layer(mine: EncoderLayer, peer: nn.TransformerEncoderLayer) -> None:
    copy_attention(mine.self_attention, peer.self_attn)
    copy(mine.self_attention_residual.norm, peer.norm1)
    copy(mine.feed_forward.wide, peer.linear1)
    copy(mine.feed_forward.narrow, peer.linear2)
    copy(mine.feed_forward_residual.norm, peer.norm2)


def copy_decoder_layer(mine: DecoderLayer, peer: nn.TransformerDecoderLayer) -> None:
    copy_attention(mine.self_attention, peer.self_attn)
    copy_attention(mine.cross_attention, peer.multihead_attn)
    copy(mine.self_attention_residual.norm, peer.norm1)
    copy(mine.cross_attention_residual.norm, peer.norm2)
    copy(mine.feed_forward.wide, peer.linear1)
    copy(mine.feed_forward.narrow, peer.linear2)
    copy(mine.feed_forward_residual.norm, peer.norm3)


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """source (3, 6, d_model) and which of it is real, target (3, 5, d_model)."""
    generator = torch.Generator().manual_seed(8)
    source = torch.randn(3, 6, 16, generator=generator, dtype=torch.float64)
    target = torch.randn(3, 5, 16, generator=generator, dtype=torch.float64)
    return source, torch.arange(6) < torch.tensor([6, 2, 4])[:, None], target


@PLACES
@ACTIVATIONS
def test_encoder_layer(norm_place: str, activation: Function, config_of: ConfigOf) -> None:
    peer = nn.TransformerEncoderLayer(
        16, 4, 24, 0.0, activation, batch_first=True, norm_first=norm_place == "pre", dtype=torch.float64
    )
    randomise(peer)
    mine = EncoderLayer(config_of(norm_place=norm_place, activation=activation)).double()
    copy_encoder_layer(mine, peer)
    source, real, _ = batch()
    expected = peer(source, src_key_padding_mask=~real)
    np.testing.assert_allclose(mine(source, real, padding(real), None).detach(), expected.detach(), atol=1e-10)


@PLACES
@ACTIVATIONS
def test_decoder_layer(norm_place: str, activation: Function, config_of: ConfigOf) -> None:
    peer = nn.TransformerDecoderLayer(
        16, 4, 24, 0.0, activation, batch_first=True, norm_first=norm_place == "pre", dtype=torch.float64
    )
    randomise(peer)
    mine = DecoderLayer(config_of(norm_place=norm_place, activation=activation)).double()
    copy_decoder_layer(mine, peer)
    memory, real, target = batch()
    expected = peer(target, memory, tgt_mask=~causal(5)[0, 0], memory_key_padding_mask=~real)
    found = mine(target, None, causal(5), mine.cross_attention.keys_values(memory), padding(real), None)
    np.testing.assert_allclose(found.detach(), expected.detach(), atol=1e-10)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_both_stacks_with_a_norm_at_their_ends(config_of: ConfigOf) -> None:
    peer = nn.Transformer(16, 4, 2, 3, 24, 0.0, batch_first=True, norm_first=True, dtype=torch.float64)
    randomise(peer)
    mine = Transformer(config_of(norm_place="pre", positions="none", decoder_layers=3)).double()
    for place, layer in enumerate(mine.encoder.layers):
        copy_encoder_layer(layer, peer.encoder.layers[place])
    for place, last in enumerate(mine.decoder.layers):
        copy_decoder_layer(last, peer.decoder.layers[place])
    for stack, their_stack in ((mine.encoder, peer.encoder), (mine.decoder, peer.decoder)):
        copy(stack.get_submodule("norm"), their_stack.get_submodule("norm"))
    source, real, target = batch()
    expected = peer(
        source, target, tgt_mask=~causal(5)[0, 0], src_key_padding_mask=~real, memory_key_padding_mask=~real
    )
    found = mine.decoder(target, None, mine.encoder(source, real), real)
    np.testing.assert_allclose(found.detach(), expected.detach(), atol=1e-10)
