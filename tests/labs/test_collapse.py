"""C2: the one matrix against torch's layers one after the other, and the example by hand."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import torch

from pellucid.labs import Result, committed
from pellucid.labs.collapse import collapsed, decide, example
from pellucid.labs.networks.multi_layer import MultiLayer


def test_the_one_layer_is_that_of_torchs_layers_in_a_row() -> None:
    random = np.random.default_rng(2)
    network = MultiLayer.random([3, 5, 4, 2], "identity", 1)
    layers = torch.nn.Sequential(*(torch.nn.Linear(*shape, dtype=torch.float64) for shape in ((3, 5), (5, 4), (4, 2))))
    for layer, weight, bias in zip(layers, network.weights, network.biases, strict=True):
        assert isinstance(layer, torch.nn.Linear)
        bias += random.normal(size=bias.shape)
        layer.weight.data, layer.bias.data = torch.from_numpy(weight), torch.from_numpy(bias)
    x = random.normal(size=(9, 3))
    weight, bias = collapsed(network)
    np.testing.assert_allclose(x @ weight.T + bias, layers(torch.from_numpy(x)).detach().numpy(), atol=1e-13)


def test_the_example_can_be_multiplied_by_hand() -> None:
    shown = example(seed=3)
    (a, b), (c, d) = shown["second"]
    (e, f), (g, h) = shown["first"]
    assert shown["product"] == [[a * e + b * g, a * f + b * h], [c * e + d * g, c * f + d * h]]
    [first, second] = shown["first_bias"]
    assert shown["bias"] == [
        a * first + b * second + shown["second_bias"][0],
        c * first + d * second + shown["second_bias"][1],
    ]


def test_either_part_of_the_claim_can_fail(quick: Callable[..., Result]) -> None:
    different, learned = copy.deepcopy(quick("collapse").data), copy.deepcopy(quick("collapse").data)
    different["differences"][2][0] = 2e-12
    learned["correct"][2][0] = 1.0
    assert decide(different).outcome == decide(learned).outcome == "refuted"
    assert max(map(max, committed("collapse").data["differences"])) < 1e-12
