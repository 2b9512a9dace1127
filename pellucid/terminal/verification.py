"""The result of `pellucid verify`, as a table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from pellucid.evaluation.verify import EngineCheck, Verification

SHOWN = 3  # differing texts of each engine


def print_verification(result: Verification) -> None:
    console = Console(highlight=False)
    table = Table("engine", "largest logit gap", "same texts", "batching changes", "verdict", box=None)
    for engine in result.engines:
        same = f"{result.texts - len(engine.differences)} of {result.texts}"
        changes = str(len(engine.batch_changes))
        table.add_row(engine.engine, f"{engine.logit_gap:.1e}", same, changes, verdict(engine, result.texts))
    console.print(table)
    for line in _details(result):
        console.print(line, markup=False)


def _details(result: Verification) -> list[str]:
    lines = [f"{name} was not checked: {reason}" for name, reason in result.unchecked.items()]
    for engine in result.engines:
        for difference in engine.differences[:SHOWN]:
            lines += [
                f"\n{engine.engine}: {difference.text}",
                f"  reference: {difference.reference}",
                f"  engine:    {difference.engine}",
            ]
        lines += [f"\n{engine.engine}: depends on its batch: {text}" for text in engine.batch_changes[:SHOWN]]
    lines += [f"\nthe tokenizer does not reproduce: {text!r}" for text in result.tokenizer_losses[:SHOWN]]
    return [*lines, f"\n{result.paragraph()}"]


def verdict(engine: EngineCheck, texts: int) -> str:
    """An engine that rounds need not give equal texts, so that it is never called right."""
    if not engine.holds:
        return "WRONG"
    if engine.exact:
        return "right"
    return f"differs in {len(engine.differences)} of {texts}" if engine.differences else "within rounding"
