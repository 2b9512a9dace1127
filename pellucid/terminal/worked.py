"""A checked example in the terminal: stated numbers, right ones, and the verdict in words as well as in colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pellucid.terminal.encoding import printable
from pellucid.worked.checker import VERDICTS, CheckedExample, CheckedStep, Verdict
from pellucid.worked.functions import Value
from pellucid.worked.notes import Claim
from pellucid.worked.numbers import Stated, as_written, items, same, shown, stated_decimals

STYLES = {"right": "green", "rounded": "cyan", "carried": "yellow", "wrong": "bold red", "": "dim"}
MARKS = {"right": "✓", "rounded": "≈", "carried": "↳", "wrong": "✗", "": "·"}
MOST_ROWS, MOST_COLUMNS = 12, 8
MARGIN = 15  # for the verdict, left of everything else


def print_examples(examples: list[CheckedExample], console: Console) -> None:
    for example in examples:
        console.print(printable(Group(*_example(example, console.width)), console))
    console.print(printable(_summary(examples), console))


def _example(checked: CheckedExample, width: int) -> Iterator[RenderableType]:
    yield Text.assemble((checked.example.id, "bold"), "  ", (checked.example.title, "bold"))
    if checked.example.about:
        yield Padding(Text(" ".join(checked.example.about.split()), "dim"), (0, 0, 0, 2))
    for step in checked.steps:
        yield _step(step, width)
    yield Text()


def _step(checked: CheckedStep, width: int) -> Table:
    verdict = checked.verdict or ""
    content: list[RenderableType] = [Text.assemble((checked.step.name, "bold"), f" = {checked.step.expression}")]
    if checked.step.note:
        content.append(Text(checked.step.note, "dim italic"))
    if checked.step.ours:
        content.append(Text("what is stated here is not in the source", "dim italic"))
    if checked.hint:
        content.append(Text(f"hint: {checked.hint}", STYLES["wrong"]))
    if checked.cause:
        content.append(Text(f"likely cause: {checked.cause}", STYLES["wrong"]))
    content.append(_values(checked, width - MARGIN))
    step = Table.grid()
    step.add_column(width=MARGIN)
    label = verdict or ("open" if checked.open else "not stated")
    step.add_row(Text(f"  {MARKS[verdict]} {label}", STYLES[verdict]), Group(*content))
    return step


def _values(checked: CheckedStep, width: int) -> Table:
    """What is stated, what is right and, where it differs, what follows from the stated steps."""
    stated = checked.step.stated
    digits = stated_decimals(stated)
    if checked.verdict == "right" and stated is not None:
        return _side_by_side([("", _stated(stated, checked.elements))], width)
    blocks = [] if stated is None else [("stated", _stated(stated, checked.elements))]
    if checked.right is not None:
        blocks.append(("right", _computed(checked.right, digits)))
    if checked.from_stated is not None and not same(checked.right, checked.from_stated):
        blocks.append(("from the stated steps", _computed(checked.from_stated, digits)))
    return _side_by_side(blocks, width)


def _side_by_side(blocks: list[tuple[str, Text]], width: int) -> Table:
    """Blocks of numbers with their headings, in one row if they fit and below each other if they do not."""
    table = Table.grid(padding=(0, 3, 0, 0))
    headed = any(heading for heading, _ in blocks)
    needed = sum(3 + max(len(heading), *map(len, numbers.plain.split("\n"))) for heading, numbers in blocks)
    for row in [blocks] if needed <= width else [[block] for block in blocks]:
        if headed:
            table.add_row(*(Text(heading, "dim") for heading, _ in row))
        table.add_row(*(numbers for _, numbers in row))
    return table


def _stated(stated: Stated, elements: Any) -> Text:
    """Numbers as written, each with the mark of its verdict unless it is right."""
    verdicts = [verdict or "" for verdict in items(elements)]
    marks = [f" {MARKS[verdict]}" if verdict in ("rounded", "carried", "wrong") else "  " for verdict in verdicts]
    if not "".join(marks).strip():
        marks = [""] * len(marks)
    texts = [as_written(leaf) + mark for leaf, mark in zip(items(stated.written), marks, strict=True)]
    shape = stated.values.shape if stated.values is not None else (len(texts),)
    return _rows([(text, STYLES[verdict]) for text, verdict in zip(texts, verdicts, strict=True)], shape)


def _computed(value: Value, digits: int | None) -> Text:
    return _rows([(text, "") for text in shown(value, digits)], value.shape)


def _rows(cells: list[tuple[str, str]], shape: tuple[int, ...]) -> Text:
    """Cells in aligned columns, one line a row; what is too much for a terminal ends in an ellipsis."""
    width = shape[-1] if shape else 1
    rows = [cells[start : start + width] for start in range(0, len(cells), width)]
    shown_rows = [row[:MOST_COLUMNS] for row in rows[:MOST_ROWS]]
    widths = [max(len(text) for text, _ in column) for column in zip(*shown_rows, strict=True)]
    lines = []
    for row in shown_rows:
        line = Text("  ").join(Text(f"{text:>{size}}", style) for (text, style), size in zip(row, widths, strict=True))
        lines.append(line.append("  …") if width > MOST_COLUMNS else line)
    if len(rows) > MOST_ROWS:
        lines.append(Text("…"))
    if width > MOST_COLUMNS or len(rows) > MOST_ROWS:
        lines.append(Text(" × ".join(map(str, shape)), "dim"))
    return Text("\n").join(lines)


def print_grades(rows: list[dict[str, Any]], console: Console) -> None:
    """One line a student: the score, and the steps that are wrong, carried or open."""
    table = Table("student", "score", "wrong", "carried", "open", "likely causes and remarks")
    for row in rows:
        score = f"{row['earned']:g} of {row['possible']}" if row["possible"] != "" else "not read"
        remarks = "; ".join(filter(None, (row["causes"], row["remarks"])))
        table.add_row(*map(Text, (row["student"], score, row["wrong"], row["carried"], row["open"], remarks)))
    console.print(printable(table, console))


def print_claims(claims: list[Claim], console: Console) -> None:
    table = Table("", "claim", "verdict", "shown by")
    for claim in claims:
        verdict = f"{claim.verdict}. {claim.why}" if claim.why else claim.verdict
        table.add_row(*map(Text, (claim.id, claim.claim, verdict, claim.shown_by)))
    console.print(printable(table, console))


def _summary(examples: Sequence[CheckedExample]) -> Text:
    counts = Counter(step.verdict for example in examples for step in example.steps if step.verdict)
    text = Text()
    for verdict in VERDICTS:
        if counts[verdict]:
            text.append(f"{MARKS[verdict]} {counts[verdict]} {verdict}  ", STYLES[verdict])
    explained: dict[Verdict, str] = {
        "rounded": "≈ within one unit of the last digit",
        "carried": "↳ follows from an earlier mistake",
        "wrong": "✗ a new mistake",
    }
    meanings = [words for verdict, words in explained.items() if counts[verdict]]
    still_open = [f"{example.example.id}.{name}" for example in examples for name in example.open]
    if still_open:
        text.append(f"· {len(still_open)} open: {', '.join(still_open[:MOST_ROWS])}  ", "bold")
    if not counts:
        return text.append("Nothing is stated, so nothing is checked.", "dim")
    earned, possible = (sum(part) for part in zip(*(example.score for example in examples), strict=True))
    if meanings or still_open:
        score = f"score {earned:g} of {possible}"
        return text.append(f"{score} ({'; '.join(meanings)})" if meanings else score, "dim")
    return text.append("Everything is right.", "dim")
