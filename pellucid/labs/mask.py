"""C12: without the causal mask, training sees the answer: the loss falls to nothing and the model is useless."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np

from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series, series_over_seeds, table
from pellucid.labs.parts.intervals import interval
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict

SYMBOLS = 8  # of the source language; each has two words in the target language
FIRST = 3  # ids below are padding, start and end
TESTED = 64  # sources that are translated at each check
LEAKED = 0.5  # share of the lowest honest loss, below which only a leak can bring it
USELESS = 0.5  # share of the words that the model with the mask gets right


class Settings(LabConfig):
    length: int = setting(6, "symbols of each source", minimum=2, maximum=20)
    updates: int = setting(250, "updates of each model", minimum=20, maximum=5000)
    learning_rate: float = setting(0.01, "highest learning rate (Adam)", minimum=0.0001, maximum=0.1)
    checks: int = setting(10, "how often during training the model has to translate", minimum=2, maximum=50)


def measure(config: Settings) -> Steps[Data]:
    masks = {"with the mask": True, "without the mask": config.broken}
    results: Data = {}
    for number, (name, masked) in enumerate(masks.items()):
        runs = []
        for place, seed in enumerate(config.all_seeds):
            done = (number + place / config.seeds) / len(masks)
            runs.append((yield from _run(config, seed, masked, name, (done, 1 / (len(masks) * config.seeds)))))
        results[name] = {
            "loss_updates": runs[0]["loss_updates"],
            "losses": [run["losses"] for run in runs],
            "check_updates": runs[0]["check_updates"],
            "right": [run["right"] for run in runs],
        }
    return {"lowest_honest_loss": lowest_honest_loss(config.length), "models": results}


def lowest_honest_loss(length: int) -> float:
    """Nothing tells which of its two words a symbol got: log 2 for each. The end is certain, and counts too."""
    return length * log(2) / (length + 1)


def draw_pairs(random: np.random.Generator, rows: int, length: int) -> tuple[list[list[int]], list[list[int]]]:
    """Sources, and targets that have, symbol for symbol, one of its two words, by the toss of a coin."""
    from pellucid.text.tokenizer import END

    symbols = random.integers(0, SYMBOLS, (rows, length))
    words = FIRST + SYMBOLS + 2 * symbols + random.integers(0, 2, (rows, length))
    sources = [[*row, END] for row in (FIRST + symbols).tolist()]
    return sources, [[*row, END] for row in words.tolist()]


def right_words(found: list[tuple[int, ...]], sources: list[list[int]]) -> float:
    """The share of symbols with one of their two words at their place."""
    right = [
        place < len(output) and (output[place] - FIRST - SYMBOLS) // 2 == symbol - FIRST
        for output, source in zip(found, sources, strict=True)
        for place, symbol in enumerate(source[:-1])
    ]
    return sum(right) / len(right)


def _run(config: Settings, seed: int, masked: bool, name: str, share: tuple[float, float]) -> Steps[dict[str, Any]]:
    """Train one model, and let it translate from time to time."""
    from torch import Tensor

    from pellucid.labs.networks.torch_changes import remove_mask
    from pellucid.labs.networks.torch_training import generate, mean_loss, small, train
    from pellucid.nn import Transformer
    from pellucid.text.batch import Batch

    random = np.random.default_rng(seed)
    tested, _ = draw_pairs(np.random.default_rng([seed, 1]), TESTED, config.length)
    model = Transformer(small(FIRST + 3 * SYMBOLS, d_model=32), seed)
    if not masked:
        remove_mask(model)
    marks = sorted({round(update) for update in np.linspace(1, config.updates, config.checks)})
    right = []

    def loss_of(update: int) -> Tensor:
        if update in marks:
            model.eval()
            right.append(right_words(generate(model, tested), tested))
            model.train()
        return mean_loss(model, Batch.from_ids(*draw_pairs(random, 32, config.length)))

    def progress(done: float, update: int, loss: float) -> Progress:
        return Progress(share[0] + share[1] * done, name, update, loss)

    losses = yield from train(model, loss_of, config.updates, config.learning_rate, progress)
    updates, values = zip(*losses, strict=True)
    return {"loss_updates": list(updates), "losses": list(values), "check_updates": marks, "right": right}


def first_leak(losses: list[float], updates: list[int], lowest: float) -> int | None:
    """The first update with a loss that no model without a leak can have."""
    leaked: Iterator[int] = (update for update, loss in zip(updates, losses, strict=True) if loss < LEAKED * lowest)
    return next(leaked, None)


def decide(data: Data) -> Verdict:
    lowest = data["lowest_honest_loss"]
    masked, unmasked = data["models"]["with the mask"], data["models"]["without the mask"]
    ends = [losses[-1] for losses in unmasked["losses"]]
    leaks = [first_leak(losses, unmasked["loss_updates"], lowest) for losses in unmasked["losses"]]
    with_mask, without = (interval([right[-1] for right in each["right"]]) for each in (masked, unmasked))
    words = f"{100 * without.mean:.0f}% of the words, with the mask {100 * with_mask.mean:.0f}%"
    if all(end < LEAKED * lowest for end in ends) and without.mean < USELESS * with_mask.mean:
        soon = max(leak for leak in leaks if leak is not None)
        return Verdict(
            "shown",
            f"Without the mask the loss fell to {interval(ends).mean:.2g}, where {lowest:.2g} is the lowest possible "
            f"without seeing the answer (below half of that by update {soon} in every run), and the model then "
            f"translated {words}.",
        )
    if all(end >= lowest * (1 - LEAKED) for end in ends) or without.mean >= with_mask.mean:
        return Verdict("refuted", f"Without the mask nothing leaked, or it did no harm: it translated {words}.")
    return Verdict("not decided", f"The leak shows in part of the runs only: without the mask, {words}.")


def draw(data: Data) -> list[Figure]:
    lowest, models = data["lowest_honest_loss"], data["models"]
    updates = models["with the mask"]["loss_updates"]
    curves = [
        series_over_seeds(name, each["loss_updates"], list(zip(*each["losses"], strict=True)))
        for name, each in models.items()
    ]
    floor = series("lowest without seeing the answer", [updates[0], updates[-1]], [lowest, lowest])
    right = [
        series_over_seeds(
            name, each["check_updates"], [[100 * one for one in x] for x in zip(*each["right"], strict=True)]
        )
        for name, each in models.items()
    ]
    leaks = models["without the mask"]
    soon = [first_leak(losses, leaks["loss_updates"], lowest) for losses in leaks["losses"]]
    last = [group("at the end", [[100 * run[-1] for run in each["right"]] for each in models.values()])]
    return [
        lines(
            "Training loss", axis("update"), axis("loss per token", low=0), [*curves, floor],
            "Only a model that sees the answer can come below the level line: a coin decides between the words.",
        ),
        lines("Words that are right when it translates", axis("update"), axis("right, %", low=0, high=100), right),
        bars("Words that are right after the training", list(models), axis("right, %", low=0, high=100), last),
        table(
            "How soon the leak shows", ["run", "first update with a loss below half of the lowest possible"],
            [[str(run + 1), "never" if update is None else str(update)] for run, update in enumerate(soon)],
        ),
    ]  # fmt: skip


LAB = Lab(
    name="mask",
    claims="C12",
    title="Without the mask, training sees the answer",
    question="What does a decoder learn that may look at the words after the one it predicts?",
    notes="The causal mask puts -inf above the diagonal before the softmax, so that no weight falls on the future; "
    "without it training sees the answer.",
    method="The same small Transformer is trained with the mask and without it. Its task: for every symbol, one of two "
    "words, chosen by the toss of a coin, so that the lowest loss without seeing the answer is known exactly. "
    "During the training it also has to translate, one word after the other, when there is no future to see.",
    criterion="Shown if without the mask every run ends below half of the lowest loss that is possible without seeing "
    "the answer, and the model then gets fewer than half as many words right as the one with the mask.",
    refuted_by="A loss that stays above the lowest honest one without the mask, or a model that translates as well.",
    broken="The mask stays on in both models.",
    settings=Settings,
    quick={"seeds": 1, "updates": 110, "length": 4, "checks": 3, "learning_rate": 0.02},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
