from __future__ import annotations

from collections.abc import Callable
from math import erf

import numpy as np
import pytest
import torch

from pellucid.config import ModelConfig
from pellucid.nn.embedding import Input
from pellucid.nn.feed_forward import FeedForward
from pellucid.nn.norms import EPSILON

ConfigOf = Callable[..., ModelConfig]


def sigmoid(x: np.ndarray) -> np.ndarray:
    chance: np.ndarray = 1 / (1 + np.exp(-x))
    return chance


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "swiglu"])
@pytest.mark.parametrize("bias", [True, False])
def test_the_formula(activation: str, bias: bool, config_of: ConfigOf) -> None:
    torch.manual_seed(1)
    part = FeedForward(config_of(activation=activation, bias=bias)).double()
    state = {name: value.numpy() for name, value in part.state_dict().items()}

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        product: np.ndarray = x @ state[f"{name}.weight"].T
        return product + state[f"{name}.bias"] if bias else product

    x = torch.randn(2, 3, 16, dtype=torch.float64)
    wide = linear("wide", x.numpy())
    hidden = {
        "relu": wide * (wide > 0),
        "gelu": wide * np.array([(1 + erf(value / 2**0.5)) / 2 for value in wide.flat]).reshape(wide.shape),
        "silu": wide * sigmoid(wide),
        "swiglu": wide * sigmoid(wide) * (linear("gate", x.numpy()) if activation == "swiglu" else 1),
    }[activation]
    np.testing.assert_allclose(part(x).detach(), linear("narrow", hidden), atol=1e-12)


def test_each_position_is_for_itself(config_of: ConfigOf) -> None:
    part, x = FeedForward(config_of()).double(), torch.randn(2, 3, 16, dtype=torch.float64)
    for place in range(3):
        np.testing.assert_allclose(part(x[:, place]).detach(), part(x)[:, place].detach(), atol=1e-13)


def test_the_sum_of_embedding_and_position_is_normalised(config_of: ConfigOf) -> None:
    part = Input(config_of(positions="learned", embedding_norm=True)).double()
    embedded = torch.randn(2, 3, 16, dtype=torch.float64)
    assert part.positions is not None
    total = (embedded + part.positions.weight[4:7]).detach().numpy()
    expected = (total - total.mean(-1, keepdims=True)) / np.sqrt(total.var(-1, keepdims=True) + EPSILON)
    np.testing.assert_allclose(part(embedded, start=4).detach(), expected, atol=1e-12)
