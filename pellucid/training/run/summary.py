"""The summary of a run from its log: curves.png, and the rows about the training in the model card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid.notebook import curve, new_figure, page, quiet, table
from pellucid.training.run.directory import Run
from pellucid.training.run.progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 20  # validations that a notebook shows
SCORES = (("bleu", "BLEU", "#36c"), ("chrf", "chrF", "#393"), ("exact_match", "exact match, %", "#963"))


def draw_curves(run: Run) -> None:
    """curves.png: loss, validation scores and learning rate against minutes."""
    if (drawn := curves(run)) is not None:
        drawn.savefig(run.curves, dpi=100, metadata={"Software": None})


def curves(run: Run) -> Figure | None:
    """The picture, without pyplot, so that a notebook keeps its own way to show one; None before the first step."""
    history = run.history()
    steps = [entry for entry in history if "loss" in entry]
    validations = [entry for entry in history if "valid_loss" in entry]
    if not steps:
        return None
    minutes = {0: 0.0} | {entry["step"]: entry["seconds"] / 60 for entry in steps}
    figure = new_figure(8, 9)
    losses, scores, rates = figure.subplots(3, 1, sharex=True)
    losses.plot(*_smooth(steps, minutes), label="training loss", color="#8aa")
    if validations:
        when = [minutes[entry["step"]] for entry in validations]
        losses.plot(when, [entry["valid_loss"] for entry in validations], "o-", label="validation loss", color="#c33")
        for name, label, colour in SCORES:
            known = [(at, entry[name]) for at, entry in zip(when, validations, strict=True) if entry[name] is not None]
            if known:
                scores.plot(*zip(*known, strict=True), "o-", label=label, color=colour)
                scores.legend()
    losses.set_ylabel("nats per token")
    losses.legend()
    scores.set_ylabel("score on validation pairs")
    rates.plot([minutes[entry["step"]] for entry in steps], [entry["learning_rate"] for entry in steps], color="#666")
    rates.set_ylabel("learning rate")
    rates.set_xlabel("minutes of training")
    for axes in (losses, scores, rates):
        axes.grid(alpha=0.3)
    return figure


def run_page(run: Run) -> str:
    """What a notebook shows of a run."""
    history = run.history()
    steps = [entry for entry in history if "loss" in entry]
    if not steps:
        return page(quiet(f"run {run.directory}: nothing trained yet"))
    where, values = _smooth(steps, {entry["step"]: entry["step"] for entry in steps})
    validations = [entry for entry in history if "valid_loss" in entry][-SHOWN:]
    names = ("step", "valid_loss", *(name for name, _, _ in SCORES))
    rows = [["" if entry[name] is None else f"{entry[name]:.4g}" for name in names] for entry in validations]
    last = steps[-1]
    ended = f"model in {run.model}" if run.model.exists() else "not at its end"
    return page(
        quiet(f"run {run.directory}: {last['step']:,} steps in {last['seconds'] / 60:.1f} minutes, {ended}"),
        curve(where, values, "training loss, nats per token, over the steps"),
        table(("step", "validation loss", *(title for _, title, _ in SCORES)), rows) if rows else "",
        quiet(".plot() draws loss, scores and learning rate"),
    )


def _smooth(steps: list[dict[str, Any]], minutes: dict[int, float]) -> tuple[list[float], list[float]]:
    """About 200 points, each the mean loss of consecutive steps."""
    size = max(1, len(steps) // 200)
    groups = [steps[first : first + size] for first in range(0, len(steps), size)]
    when = [minutes[group[-1]["step"]] for group in groups]
    return when, [sum(entry["loss"] for entry in group) / len(group) for group in groups]


def training_rows(run: Run, progress: Progress, pairs: int) -> list[tuple[str, str]]:
    """Pairs, updates and time, and the scores of the last validation, as (name, value)."""
    rows = [
        ("training pairs", f"{pairs:,}"),
        ("updates, epochs, minutes", f"{progress.step:,}, {progress.epoch}, {progress.seconds / 60:.1f}"),
    ]
    names = {"valid_loss": "validation loss"} | {name: title for name, title, _ in SCORES}
    validations = [entry for entry in run.history() if "valid_loss" in entry]
    if validations:
        last = validations[-1]
        rows += [
            (f"{name}, last validation", f"{last[key]:.2f}") for key, name in names.items() if last[key] is not None
        ]
    return rows
