"""The curves of a run, drawn from its log."""

from __future__ import annotations

from typing import Any

from pellucid.training.run import Run

SCORES = (("bleu", "BLEU", "#36c"), ("chrf", "chrF", "#393"), ("exact_match", "exact match, %", "#963"))


def draw_curves(run: Run) -> None:
    """`curves.png`: loss, validation scores and learning rate against minutes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    history = run.history()
    steps = [entry for entry in history if "loss" in entry]
    validations = [entry for entry in history if "valid_loss" in entry]
    if not steps:
        return
    minutes = {0: 0.0} | {entry["step"]: entry["seconds"] / 60 for entry in steps}
    figure, (losses, scores, rates) = pyplot.subplots(3, 1, figsize=(8, 9), sharex=True, layout="constrained")
    losses.plot(*_smooth(steps, minutes), label="what training minimises", color="#8aa")
    if validations:
        when = [minutes[entry["step"]] for entry in validations]
        losses.plot(when, [entry["valid_loss"] for entry in validations], "o-", label="validation loss", color="#c33")
        for name, label, colour in SCORES:
            known = [(at, entry[name]) for at, entry in zip(when, validations, strict=True) if entry[name] is not None]
            if known:
                scores.plot(*zip(*known, strict=True), "o-", label=label, color=colour)
                scores.legend()
    losses.set_ylabel("nats a token")
    losses.legend()
    scores.set_ylabel("score on validation pairs")
    rates.plot([minutes[entry["step"]] for entry in steps], [entry["learning_rate"] for entry in steps], color="#666")
    rates.set_ylabel("learning rate")
    rates.set_xlabel("minutes of training")
    for axes in (losses, scores, rates):
        axes.grid(alpha=0.3)
    figure.savefig(run.curves, dpi=100, metadata={"Software": None})
    pyplot.close(figure)


def _smooth(steps: list[dict[str, Any]], minutes: dict[int, float]) -> tuple[list[float], list[float]]:
    """About 200 points, each the mean of a stretch of steps."""
    size = max(1, len(steps) // 200)
    stretches = [steps[first : first + size] for first in range(0, len(steps), size)]
    when = [minutes[stretch[-1]["step"]] for stretch in stretches]
    return when, [sum(entry["loss"] for entry in stretch) / len(stretch) for stretch in stretches]
