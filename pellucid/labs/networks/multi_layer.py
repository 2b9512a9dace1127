"""A multi-layer perceptron in NumPy float64, its forward and backward pass written out.

A layer computes  z = W x + b,  and its output is  a(z);  with a residual, x + a(z). With norm, W reads
the normalised x. The last layer is linear. Rows are examples: x is (examples, size).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import erf, pi, sqrt
from typing import NamedTuple, Self

import numpy as np

from pellucid.reference.functions import EPSILON, Array

_erf = np.vectorize(erf, otypes=[np.float64])  # NumPy has none


def sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z)), by tanh, which never overflows."""
    value: Array = 0.5 * (1.0 + np.tanh(0.5 * z))
    return value


class Activation(NamedTuple):
    value: Callable[[Array], Array]
    derivative: Callable[[Array], Array]


ACTIVATIONS = {
    "sigmoid": Activation(sigmoid, lambda z: sigmoid(z) * (1.0 - sigmoid(z))),
    "tanh": Activation(np.tanh, lambda z: 1.0 - np.tanh(z) ** 2),
    "relu": Activation(lambda z: np.maximum(z, 0.0), lambda z: (z > 0.0).astype(np.float64)),
    "gelu": Activation(
        lambda z: 0.5 * z * (1.0 + _erf(z / sqrt(2.0))),
        lambda z: 0.5 * (1.0 + _erf(z / sqrt(2.0))) + z * np.exp(-0.5 * z**2) / sqrt(2.0 * pi),
    ),
    "identity": Activation(lambda z: z, np.ones_like),
}


# Of the weights of a layer, by the number of units out of it and into it.
VARIANCES: dict[str, Callable[[int, int], float]] = {
    "glorot": lambda out, into: 2.0 / (out + into),  # for tanh: keeps the size of values and gradients
    "he": lambda _, into: 2.0 / into,  # for ReLU, which sets half of the values to zero
    "torch": lambda _, into: 1.0 / (3.0 * into),  # what torch.nn.Linear has by default
}


@dataclass
class Pass:
    """What a forward pass leaves for the backward pass, layer by layer."""

    inputs: list[Array] = field(default_factory=list)  # what W reads
    sums: list[Array] = field(default_factory=list)  # z
    deviations: list[Array] = field(default_factory=list)  # of the normalised inputs, where there is a norm
    output: Array = field(default_factory=lambda: np.zeros(0))


class Gradients(NamedTuple):
    weights: list[Array]
    biases: list[Array]
    inputs: list[Array]  # of the loss by the input of each layer


@dataclass
class MultiLayer:
    weights: list[Array]  # (out, in)
    biases: list[Array]  # (out,)
    activation: str
    residual: bool = False  # around every layer whose input and output have the same size, but the last
    norm: bool = False  # layer norm before those layers, without scale and shift

    @classmethod
    def random(
        cls,
        sizes: list[int],
        activation: str,
        seed: int,
        *,
        initial: str = "glorot",
        residual: bool = False,
        norm: bool = False,
    ) -> Self:
        """Normal weights of the variance that `VARIANCES` has for `initial`, and biases of zero."""
        random = np.random.default_rng(seed)
        shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
        weights = [random.normal(0.0, sqrt(VARIANCES[initial](*shape)), shape) for shape in shapes]
        return cls(weights, [np.zeros(size) for size in sizes[1:]], activation, residual, norm)

    def forward(self, x: Array) -> Pass:
        """x (examples, in) -> output (examples, out)."""
        trace = Pass()
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            read = x
            if self.norm and self._is_block(layer):
                read, deviation = _normalised(x)
                trace.deviations.append(deviation)
            else:
                trace.deviations.append(np.ones(0))
            z = read @ weight.T + bias
            trace.inputs.append(read)
            trace.sums.append(z)
            y = z if layer == len(self.weights) - 1 else ACTIVATIONS[self.activation].value(z)
            x = x + y if self.residual and self._is_block(layer) else y
        trace.output = x
        return trace

    def backward(self, trace: Pass, gradient: Array) -> Gradients:
        """From the gradient of the loss by the output, those by all weights, biases and layer inputs."""
        count = len(self.weights)
        found = Gradients([np.zeros(0)] * count, [np.zeros(0)] * count, [np.zeros(0)] * count)
        for layer in reversed(range(count)):
            is_last = layer == count - 1
            slope = 1.0 if is_last else ACTIVATIONS[self.activation].derivative(trace.sums[layer])
            by_sum = gradient * slope
            found.weights[layer] = by_sum.T @ trace.inputs[layer]
            found.biases[layer] = by_sum.sum(axis=0)
            by_input = by_sum @ self.weights[layer]
            if self.norm and self._is_block(layer):
                by_input = _by_unnormalised(by_input, trace.inputs[layer], trace.deviations[layer])
            gradient = by_input + gradient if self.residual and self._is_block(layer) else by_input
            found.inputs[layer] = gradient
        return found

    def parameters(self) -> list[Array]:
        return [*self.weights, *self.biases]

    def _is_block(self, layer: int) -> bool:
        rows, columns = self.weights[layer].shape
        return rows == columns and layer < len(self.weights) - 1


def _normalised(x: Array) -> tuple[Array, Array]:
    """(x - mean) / sd over the features of each row, and sd (examples, 1)."""
    centred = x - x.mean(axis=1, keepdims=True)
    deviation: Array = np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
    return centred / deviation, deviation


def _by_unnormalised(gradient: Array, normalised: Array, deviation: Array) -> Array:
    """The gradient by x from that by its normalised value: what changes mean or scale alone is taken out."""
    mean = gradient.mean(axis=1, keepdims=True)
    along = (gradient * normalised).mean(axis=1, keepdims=True)
    result: Array = (gradient - mean - normalised * along) / deviation
    return result


def logistic_loss(logits: Array, labels: Array) -> tuple[float, Array]:
    """The mean of -log p(label), and its gradient by the logits. Both (examples, 1); labels are 0 or 1."""
    losses = np.logaddexp(0.0, logits) - labels * logits
    return float(losses.mean()), (sigmoid(logits) - labels) / len(logits)


@dataclass
class Adam:
    """Kingma and Ba's Adam, over a list of parameters that it changes in place."""

    parameters: list[Array]
    rate: float
    betas: tuple[float, float] = (0.9, 0.999)

    def __post_init__(self) -> None:
        self.means = [np.zeros_like(each) for each in self.parameters]
        self.squares = [np.zeros_like(each) for each in self.parameters]
        self.count = 0

    def step(self, gradients: list[Array]) -> None:
        self.count += 1
        first, second = self.betas
        for parameter, gradient, mean, square in zip(self.parameters, gradients, self.means, self.squares, strict=True):
            mean *= first
            mean += (1.0 - first) * gradient
            square *= second
            square += (1.0 - second) * gradient**2
            unbiased = mean / (1.0 - first**self.count)
            scale = np.sqrt(square / (1.0 - second**self.count)) + 1e-8
            parameter -= self.rate * unbiased / scale
