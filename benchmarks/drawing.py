"""Pictures of figures with their spread, in the style of the training curves."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import Report, Spread, picture

OURS, OTHERS = "#36c", "#8aa"
COLOURS = ("#36c", "#c33", "#393", "#963", "#666")


def publish(report: Report, arguments: argparse.Namespace, drawn: Mapping[str, Spread], unit: str) -> None:
    """Show a report, save it, and draw a bar for each contender."""
    report.show()
    report.save(arguments.out)
    bars(picture(arguments, report.name), report.title, [*drawn], [*drawn.values()], unit)


def bars(path: Path, title: str, labels: Sequence[str], spreads: Sequence[Spread], unit: str) -> None:
    """A bar for each contender, whiskers from the lowest to the highest round; ours (pellucid) stands out."""
    figure, axes = _figure(8, 1.2 + 0.42 * len(labels))
    medians = [each.median for each in spreads]
    whiskers = [[each.median - each.low for each in spreads], [each.high - each.median for each in spreads]]
    colours = [OURS if "pellucid" in label.lower() else OTHERS for label in labels]
    axes.barh(range(len(labels)), medians, xerr=whiskers, color=colours, ecolor="#333", capsize=3)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()  # the first contender on top
    axes.set_xlabel(unit)
    axes.set_title(title, loc="left")
    axes.grid(axis="x", alpha=0.3)
    _save(figure, path)


def panels(path: Path, drawn: Sequence[Mapping[str, Any]]) -> None:
    """Several pictures of curves, two a row; each a mapping of title, curves, x_label and y_label."""
    figure, grid = _figure(11, 4 * -(-len(drawn) // 2), rows=-(-len(drawn) // 2), columns=2)
    for axes, panel in zip(grid.flat, drawn, strict=False):
        axes.set_title(panel["title"], loc="left")
        _lines(axes, panel["curves"], panel["x_label"], panel["y_label"])
    _save(figure, path)


def _lines(axes: Any, curves: Mapping[str, Sequence[tuple[float, Spread]]], x_label: str, y_label: str) -> None:
    """A line for each curve, its spread as a band. Sizes double from place to place; the other axis begins at 0, so
    that flat looks flat."""
    for (label, points), colour in zip(curves.items(), COLOURS, strict=False):
        where = [x for x, _ in points]
        axes.plot(where, [each.median for _, each in points], "o-", label=label, color=colour)
        axes.fill_between(
            where, [each.low for _, each in points], [each.high for _, each in points], color=colour, alpha=0.15
        )
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.legend()
    axes.grid(alpha=0.3)


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained")


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    pyplot.close(figure)
