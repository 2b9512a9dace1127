"""C14: residual connections let deep networks learn, and a layer be left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from pellucid.fields import setting
from pellucid.labs.gradients import DEPTHS, examples, series_over_logs
from pellucid.labs.networks.multi_layer import Adam, MultiLayer, logistic_loss
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series
from pellucid.labs.parts.intervals import interval, paired
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.reference.functions import Array

ACTIVATIONS = ("sigmoid", "tanh", "relu")
KINDS = {"plain": (False, False), "residual": (True, False), "residual + norm": (True, True)}  # residual, norm
WIDTH = 16
CURVE = 20  # points of a loss curve


class Settings(LabConfig):
    depth: int = setting(30, "hidden layers of the networks", minimum=2, maximum=50)
    updates: int = setting(200, "updates of each network", minimum=20, maximum=2000)
    activation: Literal["all", "sigmoid", "tanh", "relu"] = setting(
        "all", "activation: sigmoid, tanh, relu, or all three"
    )
    learning_rate: float = setting(0.01, "learning rate (Adam)", minimum=0.00001, maximum=0.1)


def measure(config: Settings) -> Steps[Data]:
    correct: dict[str, dict[str, list[float]]] = {}
    activations = ACTIVATIONS if config.activation == "all" else (config.activation,)
    without: dict[str, list[float]] = {name: [] for name in activations}
    losses: dict[str, list[float]] = {}
    for number, (kind, (residual, norm)) in enumerate(KINDS.items()):
        correct[kind] = {name: [] for name in activations}
        for at, name in enumerate(activations):
            for seed in config.all_seeds:
                network = build(config.depth, name, seed, residual and not config.broken, norm)
                done = (number + at / len(activations)) / len(KINDS)
                curve = yield from train(network, config, seed, f"{kind}, {name}", done)
                correct[kind][name].append(accuracy(network, *examples(seed)))
                if kind == "residual":
                    without[name].append(without_one_layer(network, seed))
                if (seed, name) == (config.seed, activations[0]):
                    losses[kind] = curve
    return {
        "correct": correct,
        "without_one_layer": without,
        "losses": losses,
        "loss_updates": points(config),
        "gradients": {
            kind: [[reach(depth, seed, residual and not config.broken, norm) for seed in config.all_seeds]
                   for depth in DEPTHS]
            for kind, (residual, norm) in KINDS.items()
        },
    }  # fmt: skip


def build(depth: int, activation: str, seed: int, residual: bool, norm: bool) -> MultiLayer:
    """2 inputs, `depth` hidden layers, 1 output. The first hidden layer has no residual: its input is narrower."""
    return MultiLayer.random([2, *[WIDTH] * depth, 1], activation, seed, residual=residual, norm=norm)


def points(config: Settings) -> list[int]:
    return sorted({round(update) for update in np.linspace(0, config.updates - 1, CURVE)})


def train(network: MultiLayer, config: Settings, seed: int, curve: str, done: float) -> Steps[list[float]]:
    """The loss on the way."""
    x, labels = examples(seed)
    optimizer = Adam(network.parameters(), config.learning_rate)
    losses, shown = [], set(points(config))
    for update in range(config.updates):
        trace = network.forward(x)
        loss, gradient = logistic_loss(trace.output, labels)
        if update in shown:
            losses.append(loss)
            yield Progress(done, curve, update, loss)
        found = network.backward(trace, gradient)
        optimizer.step([*found.weights, *found.biases])
    return losses


def accuracy(network: MultiLayer, x: Array, labels: Array) -> float:
    return float(((network.forward(x).output > 0) == (labels > 0)).mean())


def without_one_layer(network: MultiLayer, seed: int) -> float:
    """The accuracy, on average over all hidden layers but the first, when one of them is left out."""
    found = []
    for layer in range(1, len(network.weights) - 1):
        weights, biases = list(network.weights), list(network.biases)
        del weights[layer], biases[layer]
        found.append(accuracy(replace(network, weights=weights, biases=biases), *examples(seed)))
    return sum(found) / len(found)


def reach(depth: int, seed: int, residual: bool, norm: bool) -> float:
    """What is left, at the first hidden layer, of the gradient at the last; sigmoid, before training."""
    network = build(depth, "sigmoid", seed, residual, norm)
    x, labels = examples(seed)
    trace = network.forward(x)
    found = network.backward(trace, logistic_loss(trace.output, labels)[1])
    return float(np.linalg.norm(found.inputs[1]) / np.linalg.norm(found.inputs[-1]))


def decide(data: Data) -> Verdict:
    means = {kind: 100 * interval(over_activations(right)).mean for kind, right in data["correct"].items()}
    gain = paired(*(over_activations(data["correct"][kind]) for kind in ("residual", "plain")))
    compared = f"{means['residual']:.0f}% of the examples right, {means['plain']:.0f}% without residuals"
    found = f"Deep networks: {compared}, {means['residual + norm']:.0f}% with residuals and norm."
    if gain.low > 0:
        rest = 100 * interval(over_activations(data["without_one_layer"])).mean
        return Verdict(
            "shown", f"{found} When any one layer is left out of the trained network, it still has {rest:.0f}%."
        )
    if gain.mean <= 0:
        return Verdict("refuted", f"{found} Residuals did not help.")
    return Verdict("not decided", f"{found} The difference is within chance.")


def over_activations(right: dict[str, list[float]]) -> list[float]:
    """For every seed the mean over the activations."""
    return [sum(each) / len(each) for each in zip(*right.values(), strict=True)]


def draw(data: Data) -> list[Figure]:
    activations = list(data["without_one_layer"])
    percent = axis("examples that are right, %", low=0, high=100)
    kinds = [
        group(kind, [[100 * share for share in right[name]] for name in activations])
        for kind, right in data["correct"].items()
    ]
    one_less = [[100 * share for share in right] for right in data["without_one_layer"].values()]
    curves = [series(kind, data["loss_updates"], losses) for kind, losses in data["losses"].items()]
    flows = [series_over_logs(kind, list(DEPTHS), values) for kind, values in data["gradients"].items()]
    return [
        bars("What deep networks learn", activations, percent, kinds, "Half of the examples are right by chance."),
        lines(
            f"Loss while it trains, with {activations[0]}", axis("update"), axis("loss", log=True), curves, "One seed."
        ),
        lines(
            "The gradient at the first layer, with sigmoid", axis("hidden layers"),
            axis("share of the gradient that is left", log=True), flows, "Before training.",
        ),
        bars(
            "With residuals: one trained layer left out", activations, percent, [group("", one_less)],
            "Mean over the hidden layers, each left out in turn.",
        ),
    ]  # fmt: skip


LAB = Lab(
    name="residuals",
    claims="C14",
    title="Residuals let a deep network learn",
    question="Does a deep network learn with residual connections what it does not learn without?",
    notes="LayerNorm(x + Sublayer(x)): residuals keep gradients flowing, and let the model skip a layer.",
    method="Networks of 30 hidden layers learn XOR of two signs from 32 points, plain, with residuals, and with "
    "residuals and layer norm, each with sigmoid, tanh and ReLU. Gradients are measured before training. From the "
    "trained networks with residuals one layer at a time is left out.",
    criterion="Shown if residuals raise the share of right examples, over the activations, by more than chance: "
    "the 95% interval of the paired difference lies above zero. Refuted if they do not raise it.",
    refuted_by="A plain network that learns as much.",
    broken="The residual connections are removed.",
    settings=Settings,
    quick={"seeds": 3, "updates": 60, "depth": 20, "activation": "tanh", "learning_rate": 0.02},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
)
