"""C2: a stack of linear layers is one linear layer."""

from __future__ import annotations

from functools import reduce

import numpy as np

from pellucid.fields import setting
from pellucid.labs.networks.multi_layer import Adam, MultiLayer, logistic_loss
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series_over_seeds, table
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.labs.xor import FUNCTIONS, POINTS
from pellucid.reference.functions import Array

DEPTHS = (1, 2, 4, 8, 16, 32)
SAME = 1e-12  # relative difference that rounding in float64 explains
EXAMPLES = 64


class Settings(LabConfig):
    width: int = setting(8, "units of every layer", minimum=1, maximum=64)
    updates: int = setting(500, "updates of each network that learns XOR", minimum=10, maximum=20_000)
    learning_rate: float = setting(0.02, "learning rate (Adam)", minimum=0.0001, maximum=1)


def measure(config: Settings) -> Steps[Data]:
    activation = "tanh" if config.broken else "identity"
    differences: list[list[float]] = []
    correct: list[list[float]] = []
    for number, depth in enumerate(DEPTHS):
        sizes = [config.width] * (depth + 1)
        differences.append([difference(MultiLayer.random(sizes, activation, seed), seed) for seed in config.all_seeds])
        correct.append([])
        for seed in config.all_seeds:
            network = MultiLayer.random([2, *[config.width] * (depth - 1), 1], activation, seed)
            right = yield from learn_xor(network, config, number / len(DEPTHS))
            correct[-1].append(right)
    return {"depths": list(DEPTHS), "differences": differences, "correct": correct, "example": example(config.seed)}


def collapsed(network: MultiLayer) -> tuple[Array, Array]:
    """The one matrix and bias that layers without an activation come to: W = W_n … W_1, and b = W b' + b each time."""
    start = np.eye(network.weights[0].shape[1]), np.zeros(network.weights[0].shape[1])
    layers = zip(network.weights, network.biases, strict=True)
    return reduce(lambda one, layer: (layer[0] @ one[0], layer[0] @ one[1] + layer[1]), layers, start)


def difference(network: MultiLayer, seed: int) -> float:
    """The largest difference between the network and its one matrix, relative to the largest output."""
    random = np.random.default_rng([seed, 1])
    for bias in network.biases:
        bias += random.normal(size=bias.shape)
    x = random.normal(size=(EXAMPLES, network.weights[0].shape[1]))
    weight, bias = collapsed(network)
    output = network.forward(x).output
    return float(np.abs(x @ weight.T + bias - output).max() / np.abs(output).max())


def learn_xor(network: MultiLayer, config: Settings, done: float) -> Steps[float]:
    """The share of the four cases that is right in the end."""
    labels = np.array(FUNCTIONS["XOR"], np.float64)[:, None]
    optimizer = Adam(network.parameters(), config.learning_rate)
    for update in range(config.updates):
        trace = network.forward(POINTS)
        loss, gradient = logistic_loss(trace.output, labels)
        if update % 50 == 0:
            yield Progress(done, f"{len(network.weights)} layers", update, loss)
        found = network.backward(trace, gradient)
        optimizer.step([*found.weights, *found.biases])
    return float(((network.forward(POINTS).output > 0) == (labels > 0)).mean())


def example(seed: int) -> Data:
    """Two small layers and the one they come to, to be multiplied by hand."""
    random = np.random.default_rng(seed)
    first, second = (random.integers(-3, 4, (2, 2)) for _ in range(2))
    biases = random.integers(-3, 4, (2, 2))
    return {
        "first": first.tolist(), "first_bias": biases[0].tolist(), "second": second.tolist(),
        "second_bias": biases[1].tolist(), "product": (second @ first).tolist(),
        "bias": (second @ biases[0] + biases[1]).tolist(),
    }  # fmt: skip


def decide(data: Data) -> Verdict:
    largest = max(max(each) for each in data["differences"])
    best = max(max(each) for each in data["correct"])
    if largest > SAME or best == 1.0:
        found = f"differ from one matrix by up to {largest:.1g}" if largest > SAME else "learned XOR, as one cannot"
        return Verdict("refuted", f"Layers on top of each other {found}: the stack does more than one layer.")
    depth = data["depths"][-1]
    agree = f"Up to {depth} linear layers equal one matrix to {largest:.1g}"
    return Verdict("shown", f"{agree}, and trained on XOR no depth gets more than {round(4 * best)} of 4 cases right.")


def draw(data: Data) -> list[Figure]:
    shown = data["example"]
    depths = [f"{depth} layer{'s' if depth > 1 else ''}" for depth in data["depths"]]
    correct = [[100 * right for right in each] for each in data["correct"]]
    largest = [[max(value, 1e-17) for value in each] for each in data["differences"]]
    rows = [
        ["first layer", _matrix(shown["first"]), str(shown["first_bias"])],
        ["second layer", _matrix(shown["second"]), str(shown["second_bias"])],
        ["both, as one", _matrix(shown["product"]), str(shown["bias"])],
    ]
    return [
        lines(
            "A stack of layers and the one matrix it is multiplied into", axis("layers", log=True),
            axis("largest relative difference", log=True, low=1e-17, high=1.0),
            [series_over_seeds("difference", data["depths"], largest)],
            "Float64 rounds at 1e-16. Where there is no difference at all, the point is drawn at 1e-17.",
        ),
        bars("Trained on XOR", depths, axis("cases that are right, %", low=0, high=100), [group("", correct)]),
        table(
            "Two layers, multiplied", ["", "matrix", "bias"], rows,
            "The matrix is the second times the first; the bias is the second matrix times the first bias, plus "
            "the second.",
        ),
    ]  # fmt: skip


def _matrix(rows: list[list[int]]) -> str:
    return ", ".join(str(row) for row in rows)


LAB = Lab(
    name="collapse",
    claims="C2",
    title="Linear layers collapse into one",
    question="Does a deep network without activations do more than a single layer?",
    notes="A stack of linear layers is one linear layer: a2 (a1 x + b1) + b2 = (a2 a1) x + (a2 b1 + b2).",
    method="Stacks of 1 to 32 random linear layers are multiplied into one matrix and one bias, and both are "
    "compared on 64 random inputs. Then such stacks are trained on XOR, which one layer cannot learn.",
    criterion="Shown if the largest relative difference is at most 1e-12 at every depth, and no depth learns XOR.",
    refuted_by="A difference above rounding, or a linear stack that learns XOR.",
    broken="A tanh stands between the layers.",
    settings=Settings,
    quick={"seeds": 2, "updates": 200},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
)
