"""C8: without 1/sqrt(d_k) dot products grow with d_k, and softmax saturates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series_over_seeds
from pellucid.labs.parts.intervals import interval
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.reference.functions import Array, softmax

if TYPE_CHECKING:
    from torch import Tensor

SIZES = (4, 16, 64, 256, 1024)
KEYS, QUERIES = 32, 64
KINDS = ("scaled", "not scaled")
SATURATED, SPREAD = 0.9, 0.3  # the largest weight, on average, at the largest d_k
LETTERS = 24


class Settings(LabConfig):
    d_model: int = setting(256, "size of the model that is trained; its one head has this d_k", minimum=16, maximum=512)
    updates: int = setting(100, "updates of the model that is trained", minimum=5, maximum=1000)
    learning_rate: float = setting(0.001, "highest learning rate of the training (Adam)", minimum=0.00001, maximum=0.1)


def measure(config: Settings) -> Steps[Data]:
    found: dict[str, dict[str, list[list[float]]]] = {}
    for kind in KINDS:
        divided = kind == "scaled" or config.broken
        rows = [[saturation(size, seed, divided) for seed in config.all_seeds] for size in SIZES]
        found[kind] = {
            name: [[each[at] for each in of_size] for of_size in rows]
            for at, name in enumerate(("largest", "entropy", "gradient"))
        }
        yield Progress(0.02)
    losses: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
    for number, seed in enumerate(config.all_seeds):
        for at, kind in enumerate(KINDS):
            done = (number + at / 2) / config.seeds
            curve = yield from train_one(config, seed, kind, done)
            losses[kind].append([loss for _, loss in curve])
            updates = [update for update, _ in curve]
    return {"saturation": found, "losses": losses, "updates": updates}


def saturation(size: int, seed: int, divided: bool) -> tuple[float, float, float]:
    """Over random queries and keys of unit variance: the largest weight, the entropy of the weights in nats, and the
    size of the softmax's derivative (the mean over queries of each)."""
    random = np.random.default_rng([seed, size])
    queries, keys = random.normal(size=(QUERIES, size)), random.normal(size=(KEYS, size))
    scores = queries @ keys.T / (np.sqrt(size) if divided else 1.0)
    weights = softmax(scores)
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return (
        float(weights.max(axis=1).mean()),
        float(-(weights * logs).sum(axis=1).mean()),
        float(np.mean([np.linalg.norm(derivative(row)) for row in weights])),
    )


def derivative(weights: Array) -> Array:
    """Of softmax by its scores: diag(w) - w w^T."""
    found: Array = np.diag(weights) - np.outer(weights, weights)
    return found


def train_one(config: Settings, seed: int, kind: str, done: float) -> Steps[list[tuple[int, float]]]:
    """Train a model of one head to copy letters: some of the losses, with their updates."""
    from pellucid.labs.networks.torch_scale import remove_scale
    from pellucid.labs.networks.torch_training import mean_loss, small, train
    from pellucid.nn import Transformer
    from pellucid.text.batch import Batch
    from pellucid.text.tokenizer import END

    shape = {"d_model": config.d_model, "heads": 1, "feed_forward": config.d_model}
    model = Transformer(small(4 + LETTERS, **shape), seed)
    if kind == "not scaled" and not config.broken:
        remove_scale(model, config.d_model)

    def loss_of(update: int) -> Tensor:
        letters = np.random.default_rng([seed, update]).integers(4, 4 + LETTERS, (16, 8))
        texts = [[*map(int, row), END] for row in letters]
        return mean_loss(model, Batch.from_ids(texts, texts))

    curve = yield from train(
        model,
        loss_of,
        config.updates,
        config.learning_rate,
        lambda share, update, loss: Progress(done + share / (2 * config.seeds), f"{kind}, seed {seed}", update, loss),
    )
    return curve


def decide(data: Data) -> Verdict:
    ends = {kind: interval(data["saturation"][kind]["largest"][-1]).mean for kind in KINDS}
    last = {kind: interval([losses[-1] for losses in data["losses"][kind]]) for kind in KINDS}
    found = (
        f"At d_k {SIZES[-1]} the largest of {KEYS} weights is {ends['not scaled']:.2f} without the division and "
        f"{ends['scaled']:.2f} with it. Trained without it, the loss ends at {last['not scaled'].mean:.2f} instead of "
        f"{last['scaled'].mean:.2f}"
    )
    if ends["not scaled"] >= SATURATED and ends["scaled"] <= SPREAD:
        beyond = last["not scaled"].low > last["scaled"].high
        return Verdict("shown", f"{found}, {'beyond' if beyond else 'which is within'} chance.")
    if ends["not scaled"] <= 2 * ends["scaled"]:
        return Verdict("refuted", f"{found}: the division makes no difference.")
    return Verdict("not decided", f"{found}.")


def draw(data: Data) -> list[Figure]:
    found = data["saturation"]

    def by_size(title: str, name: str, label: str, note: str) -> Figure:
        curves = [series_over_seeds(kind, SIZES, found[kind][name]) for kind in KINDS]
        return lines(title, axis("d_k", log=True), axis(label, low=0), curves, note)

    curves = [
        series_over_seeds(kind, data["updates"], [list(each) for each in zip(*data["losses"][kind], strict=True)])
        for kind in KINDS
    ]
    last = [[losses[-1] for losses in data["losses"][kind]] for kind in KINDS]
    return [
        by_size("The largest weight", "largest", "weight", f"Of {KEYS} keys: even weights would be {1 / KEYS:.3f}."),
        by_size("Entropy of the weights", "entropy", "nats", f"Even weights: {np.log(KEYS):.2f} nats, one alone: 0."),
        by_size(
            "What softmax passes back", "gradient", "size of its derivative",
            "A saturated softmax passes no gradient to the queries and keys.",
        ),
        lines("A model that learns to copy letters", axis("update"), axis("loss", low=0), curves),
        bars("Its loss in the end", KINDS, axis("loss", low=0), [group("", last)]),
    ]  # fmt: skip


LAB = Lab(
    name="scaling",
    claims="C8",
    title="Why attention divides by the root of d_k",
    question="Does softmax saturate without 1/sqrt(d_k), and does a model learn worse?",
    notes="Without 1/sqrt(d_k), dot products grow with d_k and softmax saturates: one weight near 1, the rest near "
    "0. Very small scores give nearly equal weights.",
    method="Random queries and keys of unit variance, d_k from 4 to 1024: the largest of 32 weights, their "
    "entropy, and the derivative of softmax, with the division and without. Then a model of the product with one "
    "wide head learns to copy eight letters, with and without.",
    criterion="Shown if at d_k 1024 the largest weight is at least 0.9 on average without the division and at most 0.3 "
    "with it. Refuted if it is not even twice as large without.",
    refuted_by="Weights that stay spread without the division.",
    broken="The division is kept where it should be left out.",
    settings=Settings,
    quick={"seeds": 2, "d_model": 32, "updates": 5},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
