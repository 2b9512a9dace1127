"""C1: one unit cannot separate XOR, a multi-layer perceptron with a non-linearity can."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.fields import setting
from pellucid.labs.networks.multi_layer import Adam, MultiLayer, logistic_loss
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, matrix, series, table
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.reference.functions import Array

POINTS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
FUNCTIONS = {"AND": [0, 0, 0, 1], "OR": [0, 1, 1, 1], "XOR": [0, 1, 1, 0]}
NON_LINEAR = ("sigmoid", "tanh", "relu", "gelu")
GRID = 21  # points of the decision boundary along each side
FRAMES = (0.0, 0.03, 0.1, 1.0)  # of the updates, after which the decision boundary is pictured
MARGIN = 0.5  # that the picture shows around the square of the four points
MOST_FAILURES = 0.2  # of the seeds, for an activation that learns XOR


class Settings(LabConfig):
    hidden: int = setting(8, "units of the hidden layer", minimum=1, maximum=64)
    updates: int = setting(2000, "updates of each network", minimum=10, maximum=20_000)
    learning_rate: float = setting(0.05, "learning rate (Adam)", minimum=0.0001, maximum=1)


def measure(config: Settings) -> Steps[Data]:
    activations = ("identity",) if config.broken else NON_LINEAR
    solved: dict[str, list[float]] = {name: [] for name in activations}
    units: dict[str, dict[str, list[float]]] = {"perceptron": {}, "logistic": {}}
    losses: dict[str, list[float]] = {}
    boundary: Data = {}
    for function, labels in FUNCTIONS.items():
        units["perceptron"][function] = [perceptron_rule(np.array(labels), seed) for seed in config.all_seeds]
        units["logistic"][function] = []
        for seed in config.all_seeds:
            trained = yield from train(
                MultiLayer.random([2, 1], "identity", seed), function, config, 0.0, f"one unit, {function}"
            )
            units["logistic"][function].append(trained["correct"])
    for number, name in enumerate(activations):
        for seed in config.all_seeds:
            network = MultiLayer.random([2, config.hidden, 1], name, seed)
            trained = yield from train(network, "XOR", config, number / len(activations), name)
            solved[name].append(trained["correct"])
            if seed == config.seed:
                losses[name] = trained["losses"]
            if seed == config.seed and name in ("tanh", "identity"):
                boundary = trained["boundary"]
    return {
        "single_units": units,
        "multi_layer": solved,
        "losses": losses,
        "loss_updates": [int(update) for update in marks(config.updates, 40)],
        "boundary": boundary,
        "certificates": {function: certificate(np.array(labels)) for function, labels in FUNCTIONS.items()},
    }


def perceptron_rule(labels: Array, seed: int, rounds: int = 1000) -> float:
    """Rosenblatt's rule: add or subtract every example that is wrong, until none is. Returns the share that is right at
    the end; on separable points it is proved to end."""
    random = np.random.default_rng(seed)
    examples = np.hstack([POINTS, np.ones((4, 1))])
    weights = random.normal(size=3)
    for _ in range(rounds):
        wrong = 0
        for at in random.permutation(4):
            error = labels[at] - (examples[at] @ weights > 0)
            weights += error * examples[at]
            wrong += error != 0
        if not wrong:
            break
    return float(((examples @ weights > 0) == labels).mean())


def train(network: MultiLayer, function: str, config: Settings, done: float, curve: str) -> Steps[dict[str, Any]]:
    """Train on the four points of a function: its share that is right, losses and the boundary as it forms."""
    labels = np.array(FUNCTIONS[function], np.float64)[:, None]
    optimizer = Adam(network.parameters(), config.learning_rate)
    shown, pictured = set(marks(config.updates, 40)), {round(share * config.updates) for share in FRAMES}
    losses, frames = [], []
    for update in range(config.updates + 1):
        trace = network.forward(POINTS)
        loss, gradient = logistic_loss(trace.output, labels)
        if update in shown:
            losses.append(loss)
            yield Progress(done, curve, update, loss)
        if update in pictured:
            frames.append({"label": f"update {update}", "values": decisions(network)})
        found = network.backward(trace, gradient)
        optimizer.step([*found.weights, *found.biases])
    right = (network.forward(POINTS).output > 0) == (labels > 0)
    return {"correct": float(right.mean()), "losses": losses, "boundary": {"panels": frames}}


def marks(updates: int, count: int) -> list[int]:
    """Updates at even distances, the first and the last among them."""
    return sorted({round(update) for update in np.linspace(0, updates, count)})


def decisions(network: MultiLayer) -> list[list[float]]:
    """p(1) minus p(0) over the square: rows from high to low second input, columns along the first."""
    side = np.linspace(-MARGIN, 1 + MARGIN, GRID)
    grid = np.array([[first, second] for second in side[::-1] for first in side])
    value = np.tanh(network.forward(grid).output / 2).reshape(GRID, GRID)
    return [[round(float(cell), 2) for cell in row] for row in value]


def certificate(labels: Array) -> Data:
    """Whether any line separates the labels, proved by arithmetic (Gordan's theorem).

    A line with weights w separates them if s_i (x_i, 1) · w > 0 for all four points, s_i being -1 or 1. There is none
    exactly if positive numbers c exist with the sum of c_i s_i (x_i, 1) = 0: the four inequalities then add up to
    0 > 0. Four vectors in three dimensions have one such combination up to its scale; only its signs need a look.
    """
    signed = np.where(labels > 0, 1.0, -1.0)[:, None] * np.hstack([POINTS, np.ones((4, 1))])
    combination = np.linalg.svd(signed.T)[2][-1]
    combination = combination / combination[np.abs(combination).argmax()]
    remainder = float(np.abs(combination @ signed).max())
    separable = bool(combination.min() <= 1e-9)
    return {"combination": [round(float(c), 9) for c in combination], "remainder": remainder, "separable": separable}


def decide(data: Data) -> Verdict:
    single = [max(right["XOR"]) == 1.0 for right in data["single_units"].values()]
    learns_others = all(
        min(right[function]) == 1.0 for right in data["single_units"].values() for function in ("AND", "OR")
    )
    shares = {name: sum(each == 1.0 for each in right) / len(right) for name, right in data["multi_layer"].items()}
    best = ", ".join(f"{name} {100 * share:.0f}%" for name, share in shares.items())
    if any(single) or data["certificates"]["XOR"]["separable"]:
        return Verdict("refuted", "A single unit got all four cases of XOR right, which the claim says it cannot.")
    if not any(shares.values()):
        return Verdict(
            "refuted", f"The network with a hidden layer did not learn XOR from any start ({best} of seeds)."
        )
    if learns_others and min(shares.values()) >= 1 - MOST_FAILURES:
        sentence = "A single unit learns AND and OR from every start and XOR from none, because no line separates it"
        return Verdict("shown", f"{sentence}; one hidden layer learns XOR ({best} of seeds).")
    return Verdict(
        "not decided", f"Not every network learned what it should (XOR with a hidden layer: {best} of seeds)."
    )


def draw(data: Data) -> list[Figure]:
    units = [
        group(unit, [[100 * share for share in right[function]] for function in FUNCTIONS])
        for unit, right in data["single_units"].items()
    ]
    hidden = [group("hidden layer", [[100 * share for share in right] for right in data["multi_layer"].values()])]
    percent = axis("cases that are right, %", low=0, high=100)
    rows = [
        [function, ", ".join(f"{factor:g}" for factor in found["combination"]), "yes" if found["separable"] else "no"]
        for function, found in data["certificates"].items()
    ]
    curves = [series(name, data["loss_updates"], losses) for name, losses in data["losses"].items()]
    return [
        bars("One unit: what it learns", list(FUNCTIONS), percent, units, "Mean of the seeds, with its 95% interval."),
        bars("A hidden layer on XOR, by activation", list(data["multi_layer"]), percent, hidden),
        lines("Loss on XOR while it trains", axis("update"), axis("loss", log=True), curves, "First seed."),
        matrix(
            "The decision boundary while it trains", data["boundary"]["panels"], [], [], signed=True,
            note=f"First input to the right, second upwards, both from {-MARGIN:g} to {1 + MARGIN:g}. Blue: the "
            "network says 1, brown: 0. XOR is 1 at (0, 1) and (1, 0).",
        ),
        table(
            "Is there a line that separates the cases?", ["", "factors", "a line exists"], rows,
            "Every case is one inequality on the weights and the bias. With these factors the four add up to 0 > 0 "
            "if no factor is negative. Then they contradict one another, and there is no line.",
        ),
    ]  # fmt: skip


LAB = Lab(
    name="xor",
    claims="C1",
    title="XOR needs a hidden layer",
    question="Can a single unit learn XOR, and what changes with a hidden layer?",
    notes="A perceptron has no hidden layer and cannot separate XOR. A multi-layer perceptron with a "
    "non-linearity can.",
    method="A perceptron (Rosenblatt's rule) and a logistic unit (gradient descent) learn AND, OR and XOR. A network "
    "with one hidden layer learns XOR with each of four activations. Five random starts each. "
    "That no line separates XOR is also proved by arithmetic, from the four inequalities that a line would meet.",
    criterion="Shown if both single units learn AND and OR from every start and XOR from none, and the hidden layer "
    "learns XOR from at least 80% of the starts with every activation.",
    refuted_by="A single unit that gets all four cases of XOR right, or a hidden layer that never does.",
    broken="The hidden layer loses its non-linearity.",
    settings=Settings,
    quick={"seeds": 2, "updates": 500},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
)
