"""RESULTS.md from the JSON of the benchmarks and the words of remarks.toml.

python -m benchmarks.results
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, ROOT, drawn

PAGE = ROOT / "benchmarks" / "RESULTS.md"
REMARKS = ROOT / "benchmarks" / "remarks.toml"
ORDER = (
    "training-tiny",
    "training-base",
    "training_memory",
    "decoding",
    "latency",
    "cold_start",
    "serving_memory",
    "growth",
    "quality",
    "robustness",
)


def write(results: Path = RESULTS) -> None:
    """The page of all results that there are; what is not in the folder of the real ones gets a page beside it."""
    page = PAGE if results.resolve() == RESULTS else results / PAGE.name
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in results.glob("*.json")}
    names = [name for name in ORDER if name in found] + sorted(name for name in found if name not in ORDER)
    remarks = tomllib.loads(REMARKS.read_text(encoding="utf-8"))
    pictures = {name: os.path.relpath(path, page.parent) for name in names if (path := drawn(results, name)).exists()}
    page.write_text(compose([found[name] for name in names], remarks, pictures), encoding="utf-8")


def compose(results: Sequence[Mapping[str, Any]], remarks: Mapping[str, str], pictures: Mapping[str, str]) -> str:
    """All goals in one table, then each benchmark with its own table, picture, command and remark."""
    parts = ["# Results\n", remarks.get("introduction", "").strip() + "\n", _goals(results)]
    for result in results:
        parts.append(f"## {result['title']}\n")
        parts.append(table(result["columns"], result["rows"]))
        if result["name"] in pictures:
            parts.append(f"![{result['title']}]({pictures[result['name']]})\n")
        if result["name"] in remarks:
            parts.append(remarks[result["name"]].strip() + "\n")
        parts.append(f"`{result['command']}` on {_machine(result['machine'])}\n")
    if "not_measured" in remarks:
        parts += ["## What could not be measured\n", remarks["not_measured"].strip() + "\n"]
    return "\n".join(parts)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown: the first column to the left, figures to the right."""
    rule = ["---", *("---:" for _ in columns[1:])]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in (columns, rule, *rows))


def _goals(results: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for goal in (goal for result in results for goal in result["goals"]):
        figure, unit = goal["figure"], goal["unit"]
        at = "at most " if goal["less_is_better"] else ""
        stretch = "" if goal["stretch"] is None else f"{at}{goal['stretch']:g} {unit}"
        measured = f"{_short(figure['median'], unit)} {unit}"
        if figure["low"] < figure["high"]:
            measured += f" ({_short(figure['low'], unit)} to {_short(figure['high'], unit)})"
        rows.append(
            [goal["what"], f"{at}{goal['bar']:g} {unit}", stretch, measured, "yes" if goal["reached"] else "no"]
        )
    return table(("goal", "bar", "stretch", "measured, median (lowest to highest)", "reached"), rows)


def _short(figure: float, unit: str) -> str:
    if unit == "BLEU":
        return f"{figure:.2f}"  # as it is published
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.1f}" if figure >= 10 else f"{figure:.2f}"


def _machine(about: Mapping[str, Any]) -> str:
    instructions = ", ".join(about["instructions"]) or "no vector extensions known"
    versions = ", ".join(f"{name} {about[name]}" for name in ("python", "torch", "ctranslate2") if about.get(name))
    return (
        f"{about['processor']}, {about['cores']} cores, {about['memory_gb']:g} GB, {instructions}; {versions}; "
        f"{about['date']}"
    )


if __name__ == "__main__":
    write()
