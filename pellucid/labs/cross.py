"""C11: cross-attention is how the decoder knows the source: without the encoder's output it can only guess."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, matrix, series_over_seeds
from pellucid.labs.parts.intervals import interval, paired
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.tracing.heads import align

if TYPE_CHECKING:
    from torch import Tensor

    from pellucid.nn import Transformer

DIGIT, MONTH, DOT = 3, 13, 25  # the first id of each kind; below are padding, start and end
VOCABULARY = 26
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
ORDERS = list(permutations("ymd"))  # of year, month and day in the source
TARGET_LENGTH = 8  # yyyymmdd
SOURCE_LENGTH = 9  # four digits, a month, two digits and a dot, the end
MARGIN = 0.2  # share of the digits that the memory has to make right
CHANCE = 1 / SOURCE_LENGTH
SAME = 1e-4  # of the largest logit, in float32: more is no rounding


class Settings(LabConfig):
    updates: int = setting(300, "updates of each model", minimum=20, maximum=5000)
    learning_rate: float = setting(0.006, "highest learning rate (Adam)", minimum=0.0001, maximum=0.1)
    tested: int = setting(100, "dates that are translated at the end", minimum=10, maximum=1000)


class Dates(NamedTuple):
    """Dates in six orders, such as 31.May2022 and May202231., and as yyyymmdd."""

    sources: list[list[int]]
    targets: list[list[int]]
    aligned: list[list[int]]  # for each digit of the target, the place in the source that it follows from


def measure(config: Settings) -> Steps[Data]:
    runs = []
    for place, seed in enumerate(config.all_seeds):
        runs.append((yield from _run(config, seed, (place / config.seeds, 1 / config.seeds))))
    return {
        "loss_updates": runs[0]["loss_updates"],
        **{name: [run[name] for run in runs] for name in ("losses", "right", "other", "aligned", "order")},
        "example": runs[0]["example"],
    }


def draw_dates(random: np.random.Generator, rows: int) -> Dates:
    from pellucid.text.tokenizer import END

    dates = Dates([], [], [])
    for _ in range(rows):
        year, month, day = random.integers(1900, 2100), random.integers(1, 13), random.integers(1, 29)
        digits = {"y": f"{year}", "d": f"{day:02}"}
        parts = {
            "y": [DIGIT + int(digit) for digit in digits["y"]],
            "m": [MONTH + int(month) - 1],
            "d": [*(DIGIT + int(digit) for digit in digits["d"]), DOT],
        }
        source: list[int] = []
        begins = {}
        for part in ORDERS[random.integers(len(ORDERS))]:
            begins[part] = len(source)
            source += parts[part]
        target = [DIGIT + int(digit) for digit in f"{digits['y']}{month:02}{digits['d']}"]
        first = [begins["y"] + place for place in range(4)]
        dates.sources.append([*source, END])
        dates.targets.append([*target, END])
        dates.aligned.append([*first, begins["m"], begins["m"], begins["d"], begins["d"] + 1])
    return dates


def _run(config: Settings, seed: int, share: tuple[float, float]) -> Steps[dict[str, Any]]:
    """Train a model, and translate with its memory as it is, removed, another's, and in another order."""
    import torch

    from pellucid.labs.networks.torch_changes import changed_output
    from pellucid.labs.networks.torch_training import generate, mean_loss, right_tokens, small, train
    from pellucid.nn import Transformer
    from pellucid.text.batch import Batch

    random = np.random.default_rng(seed)
    model = Transformer(small(VOCABULARY), seed)

    def loss_of(_: int) -> Tensor:
        dates = draw_dates(random, 32)
        return mean_loss(model, Batch.from_ids(dates.sources, dates.targets))

    def progress(done: float, update: int, loss: float) -> Progress:
        return Progress(share[0] + share[1] * done, f"run {seed}", update, loss)

    with ExitStack() as stack:
        if config.broken:
            stack.enter_context(changed_output(model.encoder, torch.zeros_like))
        losses = yield from train(model, loss_of, config.updates, config.learning_rate, progress)
        tested = draw_dates(np.random.default_rng([seed, 1]), config.tested)
        changes: dict[str, Callable[[Tensor], Tensor]] = {
            "its own": lambda memory: memory,
            "removed": torch.zeros_like,
            "of another date": lambda memory: memory.roll(1, dims=0),
        }
        found = {}
        for name, change in changes.items():
            with changed_output(model.encoder, change):
                found[name] = generate(model, tested.sources)
        others = tested.targets[-1:] + tested.targets[:-1]
        hits, example = _alignment(model, tested)
        order = _order(model, tested)
    updates, values = zip(*losses, strict=True)
    return {
        "loss_updates": list(updates),
        "losses": list(values),
        "right": {name: right_tokens(outputs, tested.targets) for name, outputs in found.items()},
        "other": right_tokens(found["of another date"], others),
        "aligned": hits,
        "order": order,
        "example": example,
    }


def _alignment(model: Transformer, dates: Dates) -> tuple[float, Data]:
    """The share of the digits of the target that attend most to the place they follow from; and one date."""
    import torch

    from pellucid.nn.taps import attach
    from pellucid.text.batch import Batch

    batch = Batch.from_ids(dates.sources, dates.targets)
    with attach(model, "decoder.layers.*.cross_attention.weights") as record, torch.inference_mode():
        model(*(torch.from_numpy(ids) for ids in (batch.source, batch.source_real, batch.target_in)))
    weights = {name: each[0].numpy() for name, each in record.items()}  # (rows, heads, target, source)
    hits, matrices = [], []
    for row, wanted in enumerate(dates.aligned):
        found = align({name: each[row] for name, each in weights.items()}, model.config)[:TARGET_LENGTH]
        hits.append(float((found.argmax(axis=-1) == np.array(wanted)).mean()))
        matrices.append(found)
    known = np.eye(SOURCE_LENGTH)[dates.aligned[0]]
    example = {
        "source": [readable(token) for token in dates.sources[0]],
        "target": [readable(token) for token in dates.targets[0][:-1]],
        "weights": matrices[0].tolist(),
        "known": known.tolist(),
    }
    return sum(hits) / len(hits), example


def readable(token: int) -> str:
    if token < DIGIT:
        return "end"
    return str(token - DIGIT) if token < MONTH else MONTHS[token - MONTH] if token < DOT else "."


def _order(model: Transformer, dates: Dates) -> float:
    """How far the logits change when the positions of the memory change places, as a share of the largest."""
    import torch

    from pellucid.labs.networks.torch_changes import changed_output
    from pellucid.text.batch import Batch

    batch = Batch.from_ids(dates.sources, dates.targets)
    inputs = [torch.from_numpy(ids) for ids in (batch.source, batch.source_real, batch.target_in)]
    with torch.inference_mode():
        logits = model(*inputs)
        with changed_output(model.encoder, lambda memory: memory.flip(1)):
            flipped = model(*inputs)
    return float((logits - flipped).abs().max() / logits.abs().max())


def decide(data: Data) -> Verdict:
    own, removed, mixed = ([run[name] for run in data["right"]] for name in ("its own", "removed", "of another date"))
    gain, follows = paired(own, removed), paired(data["other"], mixed)
    aligned, same = interval(data["aligned"]), max(data["order"]) < SAME
    shares = f"{100 * interval(own).mean:.0f}% of the digits right, without it {100 * interval(removed).mean:.0f}%"
    if gain.mean >= MARGIN and gain.low > 0 and follows.mean >= MARGIN and aligned.mean > 2 * CHANCE and same:
        return Verdict(
            "shown",
            f"With its memory the decoder gets {shares}; given the memory of another date it writes the other date. "
            f"{100 * aligned.mean:.0f}% of the digits attend most to the place they follow from (by chance "
            f"{100 * CHANCE:.0f}%), and the order in which the memory is stored changes nothing.",
        )
    if gain.mean < MARGIN / 2:
        return Verdict("refuted", f"The memory hardly matters: with it, {shares}.")
    return Verdict("not decided", f"With its memory the decoder gets {shares}, but not every part of the claim shows.")


def draw(data: Data) -> list[Figure]:
    example = data["example"]
    names = list(data["right"][0])
    right = [[100 * run[name] for run in data["right"]] for name in names]
    other = [100 * share for share in data["other"]]
    curve = series_over_seeds("loss", data["loss_updates"], list(zip(*data["losses"], strict=True)))
    panels = [{"label": "attention", "values": example["weights"]}, {"label": "known", "values": example["known"]}]
    return [
        bars(
            "Digits that are right, by what the decoder gets as memory", [*names, "of another date: that date"],
            axis("right, %", low=0, high=100), [group("digits", [*right, other])],
            "Removed: all zeros. What is left then is what can be guessed, such as the century.",
        ),
        matrix(
            "Which places of the source each digit attends to", panels, example["target"], example["source"],
            note="Mean of the heads of cross-attention, and the place that the digit follows from. Rows: target.",
        ),
        lines("Loss while it trains", axis("update"), axis("loss per token", low=0), [curve]),
    ]  # fmt: skip


LAB = Lab(
    name="cross",
    claims="C11",
    title="Cross-attention carries the source",
    question="What does the decoder know of the source, and through what?",
    notes="In cross-attention the queries come from the decoder, keys and values from the encoder's top output.",
    method="A small Transformer learns to write dates, in six orders of year, month and day, as yyyymmdd. Then the "
    "encoder's output is removed, exchanged with that of another date, and put in another order. Which place each "
    "digit follows from is known, and compared with where cross-attention looks.",
    criterion="Shown if the memory makes at least 20% of the digits right beyond what is right without it (95% "
    "interval above 0), with another date's memory the other date is written (by the same margin), the digits attend "
    "to the place they follow from more than twice as often as by chance, and the order of the memory changes nothing.",
    refuted_by="A decoder that writes the date as well when the encoder's output is removed.",
    broken="The encoder's output is removed throughout, in the training too.",
    settings=Settings,
    quick={"seeds": 1, "updates": 130, "tested": 50, "learning_rate": 0.008},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
