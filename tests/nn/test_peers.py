"""Whole layers against torch's own, weights copied over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn

from pellucid.config import ModelConfig
from pellucid.nn.attention import MultiHeadAttention
from pellucid.nn.decoder import DecoderLayer
from pellucid.nn.encoder import EncoderLayer
from pellucid.nn.masks import causal, padding

ConfigOf = Callable[..., ModelConfig]
PLACES = pytest.mark.parametrize("norm_place", ["pre", "post"])
ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu"])


def randomise(layer: nn.Module) -> None:
    """Norms and biases too, so that a forgotten one shows."""
    generator = torch.Generator().manual_seed(6)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)


def copy_attention(mine: MultiHeadAttention, peer: nn.MultiheadAttention) -> None:
    weights, biases = peer.in_proj_weight.chunk(3), peer.in_proj_bias.chunk(3)
    for linear, weight, bias in zip((mine.query, mine.key, mine.value), weights, biases, strict=True):
        linear.load_state_dict({"weight": weight, "bias": bias})
    mine.output.load_state_dict(peer.out_proj.state_dict())


@PLACES
@ACTIVATIONS
def test_encoder_layer(norm_place: str, activation: Literal["relu", "gelu"], config_of: ConfigOf) -> None:
    mine = EncoderLayer(config_of(norm_place=norm_place, activation=activation)).double().eval()
    peer = nn.TransformerEncoderLayer(
        16, 4, 24, 0.0, activation, batch_first=True, norm_first=norm_place == "pre", dtype=torch.float64
    )
    randomise(peer)
    copy_attention(mine.self_attention, peer.self_attn)
    mine.self_attention_residual.norm.load_state_dict(peer.norm1.state_dict())
    mine.feed_forward.wide.load_state_dict(peer.linear1.state_dict())
    mine.feed_forward.narrow.load_state_dict(peer.linear2.state_dict())
    mine.feed_forward_residual.norm.load_state_dict(peer.norm2.state_dict())
    x = torch.randn(3, 6, 16, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    real = torch.arange(6) < torch.tensor([6, 2, 4])[:, None]
    expected = peer(x, src_key_padding_mask=~real)
    np.testing.assert_allclose(mine(x, real, padding(real), None).detach(), expected.detach(), atol=1e-10)


@PLACES
@ACTIVATIONS
def test_decoder_layer(norm_place: str, activation: Literal["relu", "gelu"], config_of: ConfigOf) -> None:
    mine = DecoderLayer(config_of(norm_place=norm_place, activation=activation)).double().eval()
    peer = nn.TransformerDecoderLayer(
        16, 4, 24, 0.0, activation, batch_first=True, norm_first=norm_place == "pre", dtype=torch.float64
    )
    randomise(peer)
    copy_attention(mine.self_attention, peer.self_attn)
    copy_attention(mine.cross_attention, peer.multihead_attn)
    mine.self_attention_residual.norm.load_state_dict(peer.norm1.state_dict())
    mine.cross_attention_residual.norm.load_state_dict(peer.norm2.state_dict())
    mine.feed_forward.wide.load_state_dict(peer.linear1.state_dict())
    mine.feed_forward.narrow.load_state_dict(peer.linear2.state_dict())
    mine.feed_forward_residual.norm.load_state_dict(peer.norm3.state_dict())
    generator = torch.Generator().manual_seed(9)
    x = torch.randn(3, 5, 16, generator=generator, dtype=torch.float64)
    memory = torch.randn(3, 6, 16, generator=generator, dtype=torch.float64)
    real = torch.arange(6) < torch.tensor([6, 2, 4])[:, None]
    expected = peer(x, memory, tgt_mask=~causal(5)[0, 0], memory_key_padding_mask=~real)
    found = mine(x, None, causal(5), mine.cross_attention.keys_values(memory), padding(real), None)
    np.testing.assert_allclose(found.detach(), expected.detach(), atol=1e-10)
