"""Labs in the terminal: the list of them, and the result of one with its tables and the ends of its curves."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pellucid.labs import Result
from pellucid.terminal.encoding import printable

STYLES = {"shown": "green", "refuted": "bold red", "not decided": "yellow"}


def print_list(results: list[Result], console: Console) -> None:
    """Every lab with the verdict of its full run."""
    made = Table(box=None, pad_edge=False)
    for heading in ("lab", "claim", "verdict", "question"):
        made.add_column(heading, no_wrap=heading != "question")
    for result in results:
        verdict = result.verdict.outcome
        made.add_row(result.lab.name, result.lab.claims, Text(verdict, STYLES[verdict]), result.lab.question)
    console.print(printable(made, console))


def print_result(result: Result, console: Console) -> None:
    lab, verdict = result.lab, result.verdict
    parts: list[RenderableType] = [
        Text.assemble((lab.claims, "bold"), "  ", (lab.title, "bold")),
        Text(f"The notes say: {lab.notes}", "dim"),
        Text.assemble((f"{verdict.outcome}: ", STYLES[verdict.outcome]), verdict.sentence),
        Text(f"Criterion: {lab.criterion}", "dim"),
        Text(f"It would have been refuted by: {lab.refuted_by}", "dim"),
    ]
    for figure in lab.draw(result.data):
        parts += [Text(), Text(figure["title"], "bold"), Padding(_figure(figure), (0, 0, 0, 2))]
    parts += [Text(), Text(f"{result.command}  ({result.seconds:g} s of CPU time)", "dim")]
    console.print(printable(Group(*parts), console))


def _figure(figure: dict[str, Any]) -> RenderableType:
    """Its numbers as a table. Curves show their first and last point; cells and points are for the page."""
    match figure["kind"]:
        case "table":
            return _table(figure["headings"], figure["rows"])
        case "bars":
            names = [group["name"] for group in figure["groups"]]
            rows = [
                [category, *(_with_interval(group, at) for group in figure["groups"])]
                for at, category in enumerate(figure["categories"])
            ]
            return _table([figure["y"]["label"], *names], rows)
        case "lines":
            rows = [
                [curve["name"], *(f"{_number(curve['y'][at])} at {_number(curve['x'][at])}" for at in (0, -1))]
                for curve in figure["series"]
            ]
            return _table([f"{figure['y']['label']} by {figure['x']['label']}", "first", "last"], rows)
        case _:
            return Text("a picture: --out DIR writes a page with it", "dim")


def _with_interval(group: dict[str, Any], at: int) -> str:
    low, high = group["low"][at], group["high"][at]
    return _number(group["values"][at]) + (f" [{_number(low)}, {_number(high)}]" if low != high else "")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _table(headings: list[str], rows: list[list[str]]) -> Table:
    made = Table(box=None, pad_edge=False)
    for heading in headings:
        made.add_column(heading, overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made
