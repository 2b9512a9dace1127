"""A picture of quality by source length."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pellucid.errors import UserError, nearest
from pellucid.evaluation.evaluate import LengthGroup

FORMATS = (".png", ".svg", ".pdf", ".jpg")


def check_picture(path: Path) -> None:
    """Report a picture that cannot be drawn before the work that it shows."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"unknown picture format {str(path)!r}", "--picture", nearest(path.suffix, FORMATS))
    if find_spec("matplotlib") is None:
        raise UserError("needs matplotlib, which is not installed", "--picture", "pip install 'pellucid[plot]'")


def draw_lengths(groups: Sequence[LengthGroup], path: Path) -> None:
    """chrF by the number of words of the source, as bars."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    bars = axes.bar([group.words for group in groups], [group.chrF for group in groups], color="#4477aa")
    axes.bar_label(bars, labels=[f"{group.sentences:,}" for group in groups], fontsize=8)
    axes.set(xlabel="words of the source (above the bars: sentences)", ylabel="chrF", ylim=(0, 105))
    figure.savefig(path)
