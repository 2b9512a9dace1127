"""C3 and C14: derivatives by calculus, gradients by autograd, and verdicts on made-up measurements."""

from __future__ import annotations

import copy
from collections.abc import Callable
from math import erf, exp, pi, sqrt

import numpy as np
import pytest
import torch
from torch.nn import functional

from pellucid.labs import Result, committed, lab
from pellucid.labs import gradients as gradients_lab
from pellucid.labs import residuals as residuals_lab
from pellucid.labs.networks.multi_layer import MultiLayer

Quick = Callable[..., Result]


def test_the_largest_derivatives_are_those_of_calculus() -> None:
    """GELU' = Phi(z) + z phi(z) has its maximum where 2 phi(z) = z² phi(z): at sqrt(2)."""
    z = sqrt(2)
    gelu = 0.5 * (1 + erf(z / sqrt(2))) + z * exp(-z * z / 2) / sqrt(2 * pi)
    found = {name: each["largest"] for name, each in committed("gradients").data["derivatives"].items()}
    assert found == pytest.approx({"sigmoid": 0.25, "tanh": 1.0, "relu": 1.0, "gelu": gelu}, abs=1e-5)


def test_the_gradient_that_is_left_is_that_of_autograd() -> None:
    depth, width, seed = 6, 5, 3
    network = MultiLayer.random([2, *[width] * depth, 1], "tanh", seed)
    x, labels = gradients_lab.examples(seed)
    hidden = []
    value = torch.from_numpy(x)
    for weight in network.weights[:-1]:
        value = torch.tanh(value @ torch.from_numpy(weight).T).requires_grad_()
        value.retain_grad()
        hidden.append(value)
    output = value @ torch.from_numpy(network.weights[-1]).T
    functional.binary_cross_entropy_with_logits(output, torch.from_numpy(labels)).backward()  # type: ignore[no-untyped-call]
    norms = [float(each.grad.norm()) for each in hidden if each.grad is not None]
    found = gradients_lab.relative_norms("tanh", "glorot", depth, width, seed)
    np.testing.assert_allclose(found, [norm / norms[-1] for norm in norms], rtol=1e-9)


def test_what_sigmoid_loses_is_at_least_what_its_derivative_says() -> None:
    """A layer passes on at most 0.25 times the largest stretch of its matrix."""
    depth, width = 10, 32
    network = MultiLayer.random([2, *[width] * depth, 1], "sigmoid", 1)
    most = np.prod([0.25 * np.linalg.norm(weight, 2) for weight in network.weights[1:-1]])
    assert gradients_lab.reach("sigmoid", "glorot", depth, width, 1) < most < 1


@pytest.mark.parametrize(
    ("sigmoid", "tanh", "relu", "outcome"),
    [
        (1e-9, 1e-9, 0.5, "shown"),
        (1e-9, 0.5, 0.5, "not decided"),
        (0.5, 0.5, 0.5, "refuted"),
        (1e-9, 1e-9, 1e-9, "refuted"),
    ],
)
def test_the_criterion_of_gradients(sigmoid: float, tanh: float, relu: float, outcome: str, quick: Quick) -> None:
    data = copy.deepcopy(quick("gradients").data)
    for name, left in {"sigmoid": sigmoid, "tanh": tanh, "relu": relu}.items():
        data["by_depth"][name][-1] = [left] * 3
    assert gradients_lab.decide(data).outcome == outcome


def test_the_criterion_of_residuals(quick: Quick) -> None:
    data = copy.deepcopy(quick("residuals").data)
    data["correct"]["plain"] = {"tanh": [0.9, 0.6, 0.5]}
    for gain, outcome in ((0.2, "shown"), (0.0, "refuted"), (-0.1, "refuted")):
        data["correct"]["residual"] = {"tanh": [0.9 + gain, 0.6 + gain, 0.5 + gain]}
        assert residuals_lab.decide(data).outcome == outcome
    data["correct"]["residual"] = {"tanh": [1.0, 0.5, 0.9]}  # better on average, by chance
    assert residuals_lab.decide(data).outcome == "not decided"


def test_a_layer_that_adds_nothing_can_be_left_out() -> None:
    """With ReLU and weights of zero a residual layer is the identity: without any of them the answers stay."""
    network = residuals_lab.build(4, "relu", 1, residual=True, norm=False)
    for layer in (1, 2, 3):
        network.weights[layer][:] = 0.0
    whole = residuals_lab.accuracy(network, *gradients_lab.examples(1))
    assert residuals_lab.without_one_layer(network, 1) == whole


def test_every_activation_can_be_chosen() -> None:
    result = lab("residuals").run(quick=True, seeds=1, updates=20, depth=3, activation="all")
    assert list(result.data["correct"]["plain"]) == ["sigmoid", "tanh", "relu"]
