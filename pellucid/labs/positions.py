"""C6, second half: do positions carry over to sequences longer than those of training?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series_over_seeds
from pellucid.labs.parts.intervals import interval
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict

if TYPE_CHECKING:
    from torch import Tensor

    from pellucid.nn import Transformer
    from pellucid.text.batch import Batch

KINDS = ("sinusoidal", "learned", "rotary", "none", "tangent")
FACTORS = (0.5, 1, 1.5, 2, 3, 4)  # of the trained length, at which the models are tested
LETTERS = 12
ROWS, TEST_ROWS = 32, 64
CARRIES, FAILS = 0.9, 0.75  # accuracy at twice the trained length, relative to that at the trained length


class Settings(LabConfig):
    trained_length: int = setting(20, "longest sequence of the training", minimum=2, maximum=20)
    updates: int = setting(1000, "updates of each model", minimum=10, maximum=3000)
    learning_rate: float = setting(0.01, "highest learning rate (Adam)", minimum=0.0001, maximum=0.05)


def measure(config: Settings) -> Steps[Data]:
    from pellucid.labs.networks.torch_training import mean_loss, small, train
    from pellucid.nn import Transformer

    lengths = [round(factor * config.trained_length) for factor in FACTORS]
    right: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
    shape: dict[str, Any] = {"d_model": 32, "heads": 2, "feed_forward": 64, "max_length": lengths[-1] + 2}
    runs = [(seed, kind) for seed in config.all_seeds for kind in KINDS]
    for number, (seed, kind) in enumerate(runs):
        positions = "sinusoidal" if kind == "tangent" else kind
        model = Transformer(small(4 + LETTERS, **shape, positions=positions), seed)
        if kind == "tangent":
            use_tangents(model, lengths[-1] + 1)

        def loss_of(update: int, model: Transformer = model, seed: int = seed) -> Tensor:
            return mean_loss(model, copies(config.trained_length, ROWS, [seed, update]))

        def progress(share: float, update: int, loss: float, number: int = number, kind: str = kind) -> Progress:
            return Progress((number + share) / len(runs), kind, update, loss)

        yield from train(model, loss_of, config.updates, config.learning_rate, progress)
        tested = [config.trained_length] * len(lengths) if config.broken else lengths
        right[kind].append([accuracy(model, length, seed) for length in tested])
    return {"lengths": lengths, "trained_length": config.trained_length, "right": right}


def use_tangents(model: Transformer, length: int) -> None:
    """Add tan in place of sin: the tables of sinusoids, which are made once, are made here, with other numbers."""
    from pellucid.nn.positions import angles, sinusoidal

    d_model = model.config.d_model
    table = sinusoidal(0, length, d_model, "interleaved").float()  # (length, d_model)
    table[:, 0::2] = angles(0, length, d_model).tan()
    model.encoder.input.table = model.decoder.input.table = table


def copies(longest: int, rows: int, seed: list[int], exactly: bool = False) -> Batch:
    """Random letters that are their own translation, all of one length, drawn up to `longest` or equal to it."""
    from pellucid.text.batch import Batch
    from pellucid.text.tokenizer import END

    random = np.random.default_rng(seed)
    length = longest if exactly else int(random.integers(1, longest + 1))
    texts = [[*map(int, row), END] for row in random.integers(4, 4 + LETTERS, (rows, length))]
    return Batch.from_ids(texts, texts)


def accuracy(model: Any, length: int, seed: int) -> float:
    """The share of the letters, END not counted, that are predicted right after the right ones before them."""
    import torch

    batch = copies(length, TEST_ROWS, [seed, 10**6, length], exactly=True)
    arrays = (batch.source, batch.source_real, batch.target_in, batch.target_real)
    with torch.inference_mode():
        found = model(*map(torch.from_numpy, arrays)).argmax(-1).numpy()
    return float((found == batch.target_out)[:, :-1].mean())


def at_length(data: Data, kind: str, factor: float) -> list[float]:
    """One accuracy per seed, at the trained length times a factor."""
    place = data["lengths"].index(round(factor * data["trained_length"]))
    return [right[place] for right in data["right"][kind]]


def decide(data: Data) -> Verdict:
    there, twice, four = (interval(at_length(data, "sinusoidal", factor)).mean for factor in (1, 2, 4))
    others = ", ".join(
        f"{kind} {interval(at_length(data, kind, 1)).mean:.0%} and {interval(at_length(data, kind, 2)).mean:.0%}"
        for kind in KINDS[1:]
    )
    found = (
        f"With sinusoids {there:.0%} of the letters are right at the trained length, {twice:.0%} at twice and "
        f"{four:.0%} at four times that length (at once and twice the length: {others})"
    )
    if twice >= CARRIES * there:
        return Verdict("shown", f"{found}: what was learned carries over, as the first set of notes says.")
    if twice <= FAILS * there:
        return Verdict("refuted", f"{found}: defined there, but weaker, as the second set of notes says.")
    return Verdict("not decided", f"{found}.")


def draw(data: Data) -> list[Figure]:
    def by_length(kind: str) -> list[list[float]]:
        return [[100 * right[at] for right in data["right"][kind]] for at in range(len(data["lengths"]))]

    percent = axis("letters that are right, %", low=0, high=100)
    ends = [
        group(name, [[100 * value for value in at_length(data, kind, factor)] for kind in KINDS])
        for name, factor in (("trained length", 1), ("twice", 2), ("four times", 4))
    ]
    chance = f"By chance it would be {100 / LETTERS:.0f}%."
    return [
        lines(
            f"Trained to length {data['trained_length']}, tested beyond", axis("length"), percent,
            [series_over_seeds(kind, data["lengths"], by_length(kind)) for kind in KINDS],
            f"Letters are to be copied; each is predicted after the right ones before it. {chance} Rotary positions "
            "turn queries and keys of self-attention; between decoder and encoder there is no position then.",
        ),
        bars("At one, two and four times the trained length", KINDS, percent, ends),
    ]  # fmt: skip


LAB = Lab(
    name="positions",
    claims="C6",
    title="Do positions carry over to longer sequences?",
    question="Does a model that was trained on short sequences work on longer ones, and with which positions?",
    notes="The sets disagree. The first says that sinusoidal positions extrapolate beyond the training length; the "
    "second that they weaken on long context. Learned positions end with their table; rotary ones are said to "
    "generalise. The tangent is ruled out because it jumps to infinity.",
    method="Small models of the product learn to copy random letters of length 1 to 20, with sinusoidal, learned and "
    "rotary positions, with none, and with the tangent in place of the sine, and are tested on lengths up to 80.",
    criterion="For “sinusoidal positions extrapolate”: shown if at twice the trained length the share of right "
    "letters is at least 90% of that at the trained length, refuted if it is at most 75% of it.",
    refuted_by="Accuracy that falls by a quarter or more at twice the trained length.",
    broken="The sequences that are tested are no longer than those of the training.",
    settings=Settings,
    quick={"seeds": 1, "trained_length": 4, "updates": 60, "learning_rate": 0.02},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
