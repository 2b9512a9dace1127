"""C6, first half: self-attention alone ignores order; what sinusoids know of distance; why not the tangent."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.config import ModelConfig
from pellucid.fields import setting
from pellucid.labs.networks.random_model import random_model
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series, table
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.reference.functions import Array, angles, sinusoidal

KINDS = ("none", "sinusoidal", "learned", "rotary")
SAME, DIFFERENT = 1e-12, 1e-3  # relative: rounding in float64, and what counts as a difference
WORDS = ("dog", "bites", "man")
POSITIONS = 100
D_MODEL = 64
DISTANCES = 40
SMALLEST = 1e-17  # a difference of zero is drawn here


class Settings(LabConfig):
    length: int = setting(12, "tokens of the sequences that are put into another order", minimum=3, maximum=64)
    layers: int = setting(2, "encoder layers", minimum=1, maximum=6)


def measure(config: Settings) -> Steps[Data]:
    differences: dict[str, list[float]] = {}
    for number, kind in enumerate(KINDS):
        chosen = "sinusoidal" if config.broken and kind == "none" else kind
        differences[kind] = [difference(chosen, config, seed) for seed in config.all_seeds]
        yield Progress(number / len(KINDS), "difference", number, differences[kind][0])
    products = sinusoidal(POSITIONS, D_MODEL) @ sinusoidal(POSITIONS, D_MODEL).T
    by_distance = [np.diagonal(products, distance) for distance in range(DISTANCES)]
    return {
        "differences": differences,
        "sentences": sentences(config),
        "products": [float(each.mean()) for each in by_distance],
        "product_spread": max(float(np.ptp(each)) for each in by_distance),
        "waves": {name: wave(name) for name in ("sine", "tangent")},
    }


def model_config(kind: str, layers: int) -> ModelConfig:
    shape: dict[str, Any] = {"vocabulary": 64, "d_model": 32, "heads": 4, "feed_forward": 64, "max_length": 64}
    layers_of_each = {"encoder_layers": layers, "decoder_layers": 1}
    return ModelConfig(**{**shape, **layers_of_each, "positions": kind})


def encoded(kind: str, layers: int, seed: int, ids: Array) -> Array:
    """What a random encoder makes of one sequence: (length, d_model)."""
    ids = np.asarray(ids)[None].astype(np.int64)
    found: Array = random_model(model_config(kind, layers), seed).encode(ids, np.ones_like(ids, np.bool_))[0]
    return found


def difference(kind: str, config: Settings, seed: int) -> float:
    """How far the encoding of a shuffled sequence is from the shuffled encoding, relative to its largest number."""
    random = np.random.default_rng([seed, 3])
    ids, shuffle = random.choice(np.arange(4, 64), config.length, replace=False), random.permutation(config.length)
    straight = encoded(kind, config.layers, seed, ids)
    shuffled = encoded(kind, config.layers, seed, ids[shuffle])
    return float(np.abs(shuffled - straight[shuffle]).max() / np.abs(straight).max())


def sentences(config: Settings) -> Data:
    """The first numbers of each word, in "dog bites man" and in "man bites dog"."""
    ids = np.array([4, 5, 6])
    found: Data = {}
    for kind in ("none", "sinusoidal"):
        chosen = "sinusoidal" if config.broken else kind
        there, back = (encoded(chosen, config.layers, config.seed, order) for order in (ids, ids[::-1]))
        found[kind] = {"dog bites man": there[:, :3].tolist(), "man bites dog": back[::-1, :3].tolist()}
    return found


def wave(name: str) -> Data:
    """Of all dimensions, at the first positions: the largest number, and the largest step to the next position."""
    angle = angles(np.arange(POSITIONS), D_MODEL)  # (position, D_MODEL / 2)
    values = np.sin(angle) if name == "sine" else np.tan(angle)
    steps = np.abs(np.diff(values, axis=0))
    return {"largest": float(np.abs(values).max()), "step": float(steps.max()), "first": values[:40, 0].tolist()}


def decide(data: Data) -> Verdict:
    blind = max(data["differences"]["none"])
    others = {kind: min(data["differences"][kind]) for kind in KINDS[1:]}
    if blind > SAME:
        return Verdict("refuted", f"Without positions the order still changed the numbers, by up to {blind:.0e}.")
    if min(others.values()) < DIFFERENT or data["product_spread"] > 1e-9:
        return Verdict("not decided", "Without positions order makes no difference; not every encoding shows it.")
    return Verdict(
        "shown",
        f"Without positions, “dog bites man” and “man bites dog” give every word the same numbers (to {blind:.0e}); "
        f"each of three positional encodings tells them apart. The product of two sinusoids depends on their distance "
        f"alone. The tangent reaches {data['waves']['tangent']['largest']:.0f} where the sine stays within 1.",
    )


def draw(data: Data) -> list[Figure]:
    logs = [[float(np.log10(max(value, SMALLEST))) for value in data["differences"][kind]] for kind in KINDS]
    rows = [
        [positions, order, word, ", ".join(f"{value:.3f}" for value in values)]
        for positions, found in data["sentences"].items()
        for order, words in found.items()
        for word, values in zip(WORDS, words, strict=True)
    ]
    waves = data["waves"]
    return [
        bars(
            "How much the order of the tokens changes", KINDS, axis("largest difference, power of ten"),
            [group("", logs)],
            "The encoding of a shuffled sequence against the shuffled encoding. −16 is rounding in float64.",
        ),
        table("The same words in two orders", ["positions", "sentence", "word", "its first numbers"], rows),
        lines(
            "The product of two sinusoidal positions", axis("distance"), axis("product"),
            [series(f"d_model {D_MODEL}", range(DISTANCES), data["products"])],
            f"It depends on the distance alone, to {data['product_spread']:.0e}: wherever two tokens stand.",
        ),
        lines(
            "Sine and tangent of the first dimension", axis("position"), axis("value", low=-10, high=10),
            [series(name, range(len(each["first"])), each["first"]) for name, each in waves.items()],
            f"Over {POSITIONS} positions and all dimensions the sine is at most {waves['sine']['largest']:.3g} and the "
            f"tangent {waves['tangent']['largest']:.3g}; between neighbours they change by up to "
            f"{waves['sine']['step']:.3g} and {waves['tangent']['step']:.3g}. Values beyond 10 are cut.",
        ),
    ]  # fmt: skip


LAB = Lab(
    name="order",
    claims="C6",
    title="Attention alone does not see order",
    question="Does self-attention without positions give the same result for any order of the tokens?",
    notes="Self-attention alone ignores order: permuting the input permutes the output, so positions are added. "
    "Sinusoids are bounded and smooth; the tangent would jump to infinity.",
    method="Encoders with random weights read a sequence and the same tokens shuffled, in float64: without positions, "
    "with sinusoidal, learned and rotary ones. Products of sinusoidal positions are taken at every distance.",
    criterion="Shown if without positions the results agree to 1e-12 and differ by more than a thousandth with each of "
    "the three encodings, and products of sinusoids at one distance agree to 1e-9. Refuted if order shows without "
    "positions.",
    refuted_by="A difference above rounding between the orders, without positions.",
    broken="Sinusoidal positions are present where there should be none.",
    settings=Settings,
    quick={"seeds": 2},
    live=("positions: none, sinusoidal, learned, rotary", "difference"),
    measure=measure,
    decide=decide,
    draw=draw,
)
