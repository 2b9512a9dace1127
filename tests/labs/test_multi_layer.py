"""The NumPy perceptron: its forward and backward passes against torch's own modules and autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from pellucid.labs.networks.multi_layer import ACTIVATIONS, Adam, MultiLayer, logistic_loss

TORCH: dict[str, Any] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "gelu": functional.gelu,
    "identity": lambda z: z,
}


def torch_forward(network: MultiLayer, weights: list[Any], biases: list[Any], x: Any) -> Any:
    """The same network by torch; the place of residual and norm is written a second time."""
    count = len(weights)
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        inner = layer < count - 1 and weight.shape[0] == weight.shape[1]
        read = functional.layer_norm(x, x.shape[-1:]) if network.norm and inner else x
        z = functional.linear(read, weight, bias)
        y = TORCH[network.activation](z) if layer < count - 1 else z
        x = x + y if network.residual and inner else y
    return x


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("residual", "norm"), [(False, False), (True, False), (False, True), (True, True)])
def test_every_gradient_is_that_of_autograd(activation: str, residual: bool, norm: bool) -> None:
    random = np.random.default_rng(5)
    network = MultiLayer.random([3, 6, 6, 6, 1], activation, 2, residual=residual, norm=norm)
    for bias in network.biases:
        bias += random.normal(size=bias.shape)
    x, labels = random.normal(size=(7, 3)), random.integers(0, 2, (7, 1)).astype(np.float64)
    trace = network.forward(x)
    loss, gradient = logistic_loss(trace.output, labels)
    found = network.backward(trace, gradient)

    weights = [torch.tensor(each, requires_grad=True) for each in network.weights]
    biases = [torch.tensor(each, requires_grad=True) for each in network.biases]
    inputs = torch.tensor(x, requires_grad=True)
    output = torch_forward(network, weights, biases, inputs)
    expected = functional.binary_cross_entropy_with_logits(output, torch.tensor(labels))
    expected.backward()  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(trace.output, output.detach().numpy(), atol=1e-12)
    assert loss == pytest.approx(expected.item(), abs=1e-12)
    for mine, other in zip([*found.weights, *found.biases], [*weights, *biases], strict=True):
        assert other.grad is not None
        np.testing.assert_allclose(mine, other.grad.numpy(), atol=1e-12)
    assert inputs.grad is not None
    np.testing.assert_allclose(found.inputs[0], inputs.grad.numpy(), atol=1e-12)


def test_adam_steps_as_torchs_does() -> None:
    random = np.random.default_rng(3)
    start, gradients = random.normal(size=(4, 2)), random.normal(size=(5, 4, 2))
    mine, other = start.copy(), torch.tensor(start, requires_grad=True)
    own, reference = Adam([mine], 0.1), torch.optim.Adam([other], 0.1)
    for gradient in gradients:
        own.step([gradient])
        other.grad = torch.tensor(gradient)
        reference.step()
    np.testing.assert_allclose(mine, other.detach().numpy(), atol=1e-9)
