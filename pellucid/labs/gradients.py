"""C3: do gradients vanish with depth, and is it the activation that makes them?"""

from __future__ import annotations

import numpy as np

from pellucid.fields import setting
from pellucid.labs.networks.multi_layer import ACTIVATIONS, VARIANCES, MultiLayer, logistic_loss
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series, series_over_seeds, table
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.reference.functions import Array

SATURATING = ("sigmoid", "tanh")
OWN = {"sigmoid": "glorot", "tanh": "glorot", "relu": "he", "gelu": "he"}  # the start that suits each activation
DEPTHS = (2, 5, 10, 20, 30, 40, 50)
VANISHED, FLOWS = 1e-6, 1e-3  # what is left, at the first layer, of the gradient at the last
EXAMPLES = 32
STARTS = {"glorot": "Glorot", "he": "He", "torch": "torch's default"}


class Settings(LabConfig):
    width: int = setting(32, "units of every hidden layer", minimum=2, maximum=128)
    depth: int = setting(20, "hidden layers of the network whose layers are shown one by one", minimum=2, maximum=50)


def measure(config: Settings) -> Steps[Data]:
    by_depth: dict[str, list[list[float]]] = {}
    for name, initial in OWN.items():
        by_depth[name] = []
        for depth in DEPTHS:
            found = [reach(activation(name, config), initial, depth, config.width, seed) for seed in config.all_seeds]
            by_depth[name].append(found)
            yield Progress((len(by_depth) - 1) / 5, name, depth, found[0])
    by_start: dict[str, list[list[float]]] = {}
    for name in OWN:
        by_start[name] = [
            [reach(activation(name, config), initial, DEPTHS[-1], config.width, seed) for seed in config.all_seeds]
            for initial in VARIANCES
        ]
        yield Progress(0.8 + 0.05 * len(by_start))
    by_layer = {
        name: np.mean([
            relative_norms(activation(name, config), initial, config.depth, config.width, seed)
            for seed in config.all_seeds
        ], axis=0).tolist()
        for name, initial in OWN.items()
    }  # fmt: skip
    derivatives = {name: derivative(name) for name in OWN}
    return {"by_depth": by_depth, "by_start": by_start, "by_layer": by_layer, "derivatives": derivatives}


def activation(name: str, config: Settings) -> str:
    return "identity" if config.broken and name in SATURATING else name


def examples(seed: int) -> tuple[Array, Array]:
    """Points in a square, labelled by XOR of the signs of their coordinates: no line separates them."""
    random = np.random.default_rng([seed, 2])
    x = random.uniform(-2, 2, (EXAMPLES, 2))
    return x, (x[:, :1] * x[:, 1:] < 0).astype(np.float64)


def relative_norms(name: str, initial: str, depth: int, width: int, seed: int) -> list[float]:
    """The norm of the loss's gradient by the output of every hidden layer, first to last, relative to the last."""
    network = MultiLayer.random([2, *[width] * depth, 1], name, seed, initial=initial)
    x, labels = examples(seed)
    trace = network.forward(x)
    found = network.backward(trace, logistic_loss(trace.output, labels)[1])
    norms = [float(np.linalg.norm(each)) for each in found.inputs[1:]]  # the input of a layer is the output before it
    return [norm / norms[-1] for norm in norms]


def reach(name: str, initial: str, depth: int, width: int, seed: int) -> float:
    """What is left, at the first hidden layer, of the gradient at the last."""
    return relative_norms(name, initial, depth, width, seed)[0]


def derivative(name: str) -> Data:
    """The largest derivative and where it is, on a fine grid; and the curve, coarser."""
    z = np.linspace(-6, 6, 2401)
    slope = ACTIVATIONS[name].derivative(z)
    at = int(slope.argmax())
    return {"largest": float(slope[at]), "at": float(z[at]), "z": z[::50].tolist(), "slope": slope[::50].tolist()}


def decide(data: Data) -> Verdict:
    left = {name: float(np.median(values[-1])) for name, values in data["by_depth"].items()}
    vanished = [name for name in SATURATING if left[name] < VANISHED]
    amounts = ", ".join(f"{name} {value:.0e}" for name, value in left.items())
    found = f"What {DEPTHS[-1]} layers leave of a gradient, each with the start that suits it: {amounts}."
    if left["relu"] < FLOWS or not vanished:
        return Verdict("refuted", f"{found} A saturating activation is not what makes gradients vanish.")
    if len(vanished) == len(SATURATING):
        return Verdict("shown", f"{found} Sigmoid and tanh lose it, ReLU does not.")
    return Verdict(
        "not decided",
        f"{found} True of the {vanished[0]}, but not of every activation that saturates; and from a start that does "
        "not suit it, ReLU loses its gradient too.",
    )


def draw(data: Data) -> list[Figure]:
    by_depth = [series_over_logs(name, list(DEPTHS), values) for name, values in data["by_depth"].items()]
    by_layer = [series(name, range(1, len(norms) + 1), norms) for name, norms in data["by_layer"].items()]
    starts = [
        group(name, [[float(np.log10(max(value, 1e-40))) for value in values] for values in by_start])
        for name, by_start in data["by_start"].items()
    ]
    slopes = [series(name, found["z"], found["slope"]) for name, found in data["derivatives"].items()]
    rows = [[name, f"{found['largest']:.4f}", f"{found['at']:.3g}"] for name, found in data["derivatives"].items()]
    rows[2][2] = "every z > 0"
    left = "share of the gradient that is left"
    return [
        lines(
            "The gradient at the first layer, by depth", axis("hidden layers"), axis(left, log=True), by_depth,
            "Before training. Sigmoid and tanh start by Glorot's rule, ReLU and GELU by He's. Geometric means of the "
            "seeds.",
        ),
        lines(
            f"The gradient on its way back through {len(by_layer[0]['x'])} layers", axis("layer"),
            axis(left, log=True), by_layer,
            "It comes from the right.",
        ),
        bars(
            f"How the weights start matters as much: {DEPTHS[-1]} layers", [STARTS[name] for name in VARIANCES],
            axis(f"{left}, power of ten"), starts, "Zero: nothing is lost. −10: a ten-billionth is left.",
        ),
        lines("Derivatives", axis("z"), axis("derivative"), slopes),
        table("The largest derivative", ["activation", "largest", "at z"], rows),
    ]  # fmt: skip


def series_over_logs(name: str, x: list[int], values: list[list[float]]) -> Figure:
    """Geometric means with their confidence intervals: shares over many powers of ten have no useful sum."""
    made = series_over_seeds(name, x, np.log10(np.maximum(values, 1e-300)).tolist())
    return made | {part: [10.0 ** float(power) for power in made[part]] for part in ("y", "low", "high")}


LAB = Lab(
    name="gradients",
    claims="C3",
    title="Do gradients vanish with depth?",
    question="How much of a gradient arrives at the first layer of a deep network, and does the activation decide it?",
    notes="Derivatives of sigmoid and tanh are below 1 and saturate, so gradients vanish with depth. ReLU's is 1 for "
    "positive input.",
    method="Random networks of 2 to 50 hidden layers, the passes written out in NumPy: the norm of the loss's "
    "gradient at the first hidden layer, relative to that at the last. Each activation starts with the weights "
    "that suit it (Glorot's for sigmoid and tanh, He's for ReLU and GELU); then all start with each of three rules.",
    criterion="Shown if 50 layers leave less than a millionth of the gradient with sigmoid and with tanh, and more "
    "than a thousandth with ReLU. Refuted if neither sigmoid nor tanh loses it, or ReLU does. Otherwise not decided.",
    refuted_by="Gradients that pass 50 layers of sigmoid and of tanh, or do not pass those of ReLU.",
    broken="Sigmoid and tanh are replaced by a function that does not saturate, the identity.",
    settings=Settings,
    quick={"seeds": 3, "width": 24, "depth": 10},
    live=("hidden layers", "share of the gradient that is left"),
    measure=measure,
    decide=decide,
    draw=draw,
)
