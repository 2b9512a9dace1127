"""The results of `pellucid evaluate` and `pellucid verify`, as tables."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from pellucid.evaluation.evaluate import Report
from pellucid.evaluation.verify import EngineCheck, Verification

SIGNIFICANT = 0.05  # a p-value below it
SHOWN = 3  # differing texts of each engine


def print_report(report: Report) -> None:
    console = Console(highlight=False)
    systems, first = report.systems, report.systems[0]
    table = Table("", *(system.name for system in systems), box=None)
    for scores in zip(*(system.scores for system in systems), strict=True):
        table.add_row(scores[0].name, *(f"{score.score:.2f}" for score in scores))
    if any(system.seconds for system in systems):
        speeds = [f"{len(each.translations) / each.seconds:,.1f}" if each.seconds else "" for each in systems]
        table.add_row("sentences per second", *speeds)
    console.print(table)
    for name, differences in report.differences.items():
        for each in differences:
            gain = f"{each.name} {each.score - each.baseline:+.2f}, p = {each.p_value:.3f}"
            verdict = "significant" if each.p_value < SIGNIFICANT else "not significant"
            console.print(f"{name} compared with {first.name}: {gain}: {verdict}", markup=False)
    console.print(f"\nchrF by number of source words, {first.name}", markup=False)
    lengths = Table("words", "sentences", "chrF", box=None)
    for group in report.by_length:
        lengths.add_row(group.words, f"{group.sentences:,}", f"{group.chrF:.1f}")
    console.print(lengths)
    for score in first.scores:
        console.print(f"{score.name}: {score.signature}", style="dim")
    if report.looks_tokenised:
        print("pellucid: the text looks tokenised; its scores are not comparable with others", file=sys.stderr)


def print_verification(result: Verification) -> None:
    table = Table("engine", "largest logit gap", "same texts", "batching changes", "verdict", box=None)
    lines = [f"{name} was not checked: {reason}" for name, reason in result.unchecked.items()]
    for check in result.engines:
        same = f"{result.texts - len(check.differences)} of {result.texts}"
        changes = str(len(check.batch_changes))
        table.add_row(check.engine, f"{check.logit_gap:.1e}", same, changes, verdict(check, result.texts))
        lines += [
            f"\n{check.engine}: {each.text}\n  reference: {each.reference}\n  engine:    {each.engine}"
            for each in check.differences[:SHOWN]
        ]
        lines += [f"\n{check.engine}: depends on its batch: {text}" for text in check.batch_changes[:SHOWN]]
    lines += [f"\nthe tokenizer does not reproduce: {text!r}" for text in result.tokenizer_losses[:SHOWN]]
    console = Console(highlight=False)
    console.print(table)
    console.print("\n".join([*lines, f"\n{result.paragraph()}"]), markup=False)


def verdict(check: EngineCheck, texts: int) -> str:
    """An engine that rounds need not give equal texts, so that it is never called right."""
    if not check.holds:
        return "WRONG"
    if check.exact:
        return "right"
    return f"differs in {len(check.differences)} of {texts}" if check.differences else "within rounding"
