"""The few kinds of figure that labs are drawn with, as plain JSON: `web/static/labs/figure.js` draws them as SVG.

A title says what is seen, a note how to read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid.labs.parts.intervals import interval

Figure = dict[str, Any]


def axis(label: str, *, log: bool = False, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    """An axis. Its range is that of the data unless it is given; a logarithmic one leaves out what is not positive."""
    return {"label": label, "log": log, "low": low, "high": high}


def series(
    name: str,
    x: Sequence[float],
    y: Sequence[float | None],
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
) -> dict[str, Any]:
    """Points joined by a line, with a band from `low` to `high` around them. A y of None is a gap."""
    band = {"low": list(low), "high": list(high)} if low is not None and high is not None else {}
    return {"name": name, "x": list(x), "y": list(y), **band}


def series_over_seeds(name: str, x: Sequence[float], values: Sequence[Sequence[float]]) -> dict[str, Any]:
    """A series of means with their confidence intervals; `values` has for every x one value per seed."""
    means, lows, highs = zip(*(interval(each) for each in values), strict=True)
    return series(name, x, means, lows, highs)


def lines(title: str, x: dict[str, Any], y: dict[str, Any], curves: Sequence[Figure], note: str = "") -> Figure:
    """Curves over a number. At most six can be told apart."""
    return {"kind": "lines", "title": title, "note": note, "x": x, "y": y, "series": list(curves)}


def group(name: str, values: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Bars of one colour: for every category one value per seed, or one alone."""
    means, lows, highs = zip(*(interval(each) for each in values), strict=True)
    return {"name": name, "values": list(means), "low": list(lows), "high": list(highs)}


def bars(
    title: str, categories: Sequence[str], y: dict[str, Any], groups: Sequence[dict[str, Any]], note: str = ""
) -> Figure:
    """Bars, lying down, group by group, with a whisker for the confidence interval."""
    return {
        "kind": "bars",
        "title": title,
        "note": note,
        "categories": list(categories),
        "y": y,
        "groups": list(groups),
    }


def points(
    title: str, x: dict[str, Any], y: dict[str, Any], groups: Sequence[dict[str, Any]], note: str = ""
) -> Figure:
    """Points, group by group: {"name": …, "x": […], "y": […], "labels": [words beside them, or none]}."""
    return {"kind": "points", "title": title, "note": note, "x": x, "y": y, "groups": list(groups)}


def matrix(
    title: str,
    panels: Sequence[dict[str, Any]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    signed: bool = False,
    note: str = "",
) -> Figure:
    """One or several matrices of one shape as coloured cells: panels of {"label": …, "values": [[…], …]}. Weights are
    coloured from 0 to the largest of all panels; `signed` ones from minus to plus the largest."""
    labels = {"rows": list(rows), "columns": list(columns)}
    return {"kind": "matrix", "title": title, "note": note, "signed": signed, "panels": list(panels), **labels}


def table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> Figure:
    """Words and numbers; the first column names the row."""
    return {"kind": "table", "title": title, "note": note, "headings": list(headings), "rows": [list(r) for r in rows]}
