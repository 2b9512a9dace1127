"""The scores of `pellucid evaluate`, as tables."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from pellucid.evaluation.evaluate import Report


def print_report(report: Report) -> None:
    console = Console(highlight=False)
    first = report.systems[0]
    console.print(_scores(report))
    for name, differences in report.differences.items():
        for each in differences:
            verdict = "significant" if each.p_value < 0.05 else "not significant"
            gain = f"{each.name} {each.score - each.baseline:+.2f}"
            console.print(f"{name} compared with {first.name}: {gain}, p = {each.p_value:.3f}: {verdict}", markup=False)
    console.print(f"\nchrF by number of source words, {first.name}", markup=False)
    lengths = Table("words", "sentences", "chrF", box=None)
    for group in report.by_length:
        lengths.add_row(group.words, f"{group.sentences:,}", f"{group.chrF:.1f}")
    console.print(lengths)
    for score in first.scores:
        console.print(f"{score.name}: {score.signature}", style="dim")
    if report.looks_tokenised:
        print("pellucid: the text looks tokenised; its scores are not comparable with others", file=sys.stderr)


def _scores(report: Report) -> Table:
    table = Table("", *(system.name for system in report.systems), box=None)
    for scores in zip(*(system.scores for system in report.systems), strict=True):
        table.add_row(scores[0].name, *(f"{score.score:.2f}" for score in scores))
    if any(system.seconds for system in report.systems):
        speeds = (f"{len(s.translations) / s.seconds:,.1f}" if s.seconds else "" for s in report.systems)
        table.add_row("sentences per second", *speeds)
    return table
