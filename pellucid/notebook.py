"""What a notebook shows of an object: plain HTML without scripts, of bounded size, on light and dark pages alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from io import BytesIO
from math import log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE = "31,95,139"
WIDE, HIGH = 480, 160  # pixels of a curve
POINTS = 300  # of a curve
CHARACTERS = 1000  # of a text


def page(*parts: str) -> str:
    """Everything below each other. What is not made by a function of this module must be `text`."""
    return f'<div style="font-family:system-ui,sans-serif;line-height:1.5">{"".join(parts)}</div>'


def text(content: object) -> str:
    """A text as a text, cut where it is very long."""
    whole = str(content)
    return escape(whole if len(whole) <= CHARACTERS else whole[:CHARACTERS] + "…")


def heading(source: str, becomes: str) -> str:
    """A sentence and its translation."""
    arrow = '<span style="opacity:.6">→</span>'
    return f'<div style="font-size:1.2em"><b>{text(source)}</b> {arrow} <b>{text(becomes)}</b></div>'


def quiet(content: object) -> str:
    return f'<div style="opacity:.7;font-size:.9em">{text(content)}</div>'


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The headings are plain text, the cells HTML."""
    left = 'style="text-align:left;font-weight:400;padding:1px 1.2em 1px 0"'
    head = "".join(f"<th {left}>{text(each)}</th>" for each in headings)
    lines = ["".join(f"<td {left}>{cell}</td>" for cell in row) for row in rows]
    return f'<table style="margin:.5em 0">{"".join(f"<tr>{line}</tr>" for line in (head, *lines))}</table>'


def bar(share: float) -> str:
    """A share as a bar, with its percents."""
    line = f'<span style="display:inline-block;height:.6em;width:{6 * share:.2f}em;background:rgb({BLUE})"></span>'
    return f'<span style="display:inline-block;width:6.5em">{line}</span>{share:.1%}'


def matrix(shares: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> str:
    """Numbers between 0 and 1 as shades, the larger ones with their percents."""
    turned = "writing-mode:vertical-rl;transform:rotate(180deg);font-weight:400;padding:2px"
    head = "".join(f'<th style="{turned}">{text(each)}</th>' for each in columns)
    body = "".join(
        f"<tr><td>{text(name)}</td>{''.join(map(_cell, row))}</tr>" for name, row in zip(rows, shares, strict=True)
    )
    return f'<table style="margin:.5em 0;font-size:.85em"><tr><th></th>{head}</tr>{body}</table>'


def _cell(share: float) -> str:
    ink = ";color:#fff" if share > 0.6 else ""
    shown = f"{100 * share:.0f}" if share >= 0.05 else ""
    return f'<td style="background:rgba({BLUE},{share:.2f}){ink};text-align:center;padding:2px 4px">{shown}</td>'


def curve(x: Sequence[float], y: Sequence[float], label: str) -> str:
    """A line, on a logarithmic axis, of at most so many points. Needs two numbers above 0."""
    points = [(at, log10(value)) for at, value in zip(x, y, strict=True) if value > 0]
    points = points[:: max(1, len(points) // POINTS)]
    if len(points) < 2:
        return ""
    lowest, highest = (choose(value for _, value in points) for choose in (min, max))
    first, last = points[0][0], points[-1][0]
    places = " ".join(
        f"{WIDE * (at - first) / ((last - first) or 1):.1f},{HIGH * (highest - value) / ((highest - lowest) or 1):.1f}"
        for at, value in points
    )
    line = f'<polyline points="{places}" fill="none" stroke="rgb({BLUE})" stroke-width="1.5"/>'
    about = f"{label}: from {10 ** points[0][1]:.3g} to {10 ** points[-1][1]:.3g} (logarithmic)"
    drawn = (
        f'<svg viewBox="-2 -2 {WIDE + 4} {HIGH + 4}" width="{WIDE}" role="img" aria-label="{text(about)}">{line}</svg>'
    )
    return f"<div>{drawn}</div>{quiet(about)}"


def new_figure(width: float, height: float) -> Figure:
    """An empty picture of so many inches, made without pyplot: it changes nothing of how a notebook draws."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _figure_class()(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


@cache
def _figure_class() -> type[Figure]:
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A figure that a notebook shows although pyplot does not know it."""

        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png", dpi=100, metadata={"Software": None})
            return file.getvalue()

    return NotebookFigure
