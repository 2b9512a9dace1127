"""Checked examples as one page of HTML that needs nothing else: wrong numbers struck, right ones beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path

from pellucid.worked.checker import VERDICTS, CheckedExample, CheckedStep, Verdict
from pellucid.worked.functions import Value
from pellucid.worked.numbers import as_written, items, same, shown, stated_decimals
from pellucid.worked.typeset import formula, name_of

MARKS: dict[Verdict, str] = {"right": "✓", "rounded": "≈", "carried": "↳", "wrong": "✗"}
MEANINGS: dict[Verdict, str] = {
    "right": "the true value, rounded to the digits written",
    "rounded": "less than one unit of the last digit away",
    "carried": "follows from a mistake made before",
    "wrong": "a new mistake",
}
MOST_ROWS, MOST_COLUMNS = 24, 16

Cell = tuple[str, str]  # a number, and what stands beside it


def page(examples: list[CheckedExample]) -> str:
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    title = examples[0].example.title if len(examples) == 1 else "Worked examples, checked"
    links = "".join(
        f'<a href="#example-{number}">{escape(checked.example.id)}</a>' for number, checked in enumerate(examples)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>Worked examples, checked</h1>
{_tally(examples)}
{f"<nav aria-label='Examples'>{links}</nav>" if len(examples) > 1 else ""}
</header>
<main>
{"".join(_example(number, checked) for number, checked in enumerate(examples))}
</main>
<footer>Every step is computed again, from the true inputs and from the stated step before it. A number that
follows from the stated steps, though these are wrong, is carried: it is no new mistake.</footer>
</body>
</html>
"""


def _tally(examples: list[CheckedExample]) -> str:
    counts = Counter(step.verdict for checked in examples for step in checked.steps if step.verdict)
    rows = "".join(
        f'<li><span class="{verdict}"><b aria-hidden="true">{MARKS[verdict]}</b>{counts[verdict]} {verdict}</span> '
        f'<span class="quiet">{MEANINGS[verdict]}</span></li>'
        for verdict in VERDICTS
        if counts[verdict]
    )
    return f'<ul class="tally">{rows}</ul>'


def _example(number: int, checked: CheckedExample) -> str:
    example = checked.example
    about = f'<p class="quiet">{escape(" ".join(example.about.split()))}</p>' if example.about else ""
    inputs = "".join(
        f"<div><dt>{name_of(name)}</dt><dd>{_value(value, None)}</dd></div>" for name, value in example.inputs.items()
    )
    return f"""<article id="example-{number}">
<h2><span class="id">{escape(example.id)}</span>{escape(example.title)}</h2>
{about}
{f'<dl class="inputs">{inputs}</dl>' if inputs else ""}
<ol>
{"".join(map(_step, checked.steps))}
</ol>
</article>
"""


def _step(checked: CheckedStep) -> str:
    verdict, step = checked.verdict, checked.step
    label = "not stated"
    if verdict:
        label = f'<span class="{verdict}"><b aria-hidden="true">{MARKS[verdict]}</b>{verdict}</span>'
    note = f'<p class="note">{escape(step.note)}</p>' if step.note else ""
    cause = f'<p class="cause"><b>Likely cause:</b> {escape(checked.cause)}.</p>' if checked.cause else ""
    return f"""<li class="step">
<div class="verdict">{label}</div>
<div class="body"><div class="formula">{formula(step.name, step.tree)}</div>
{note}{cause}<div class="blocks">{"".join(_blocks(checked))}</div></div>
</li>
"""


def _blocks(checked: CheckedStep) -> Iterator[str]:
    """What is stated, with corrections in it; what is right, where it cannot stand there; what follows from before."""
    stated, right = checked.step.stated, checked.right
    digits = stated_decimals(stated)
    corrected = False
    if stated is not None:
        corrected = stated.values is not None and right is not None and stated.values.shape == right.shape
        yield _block("stated" if checked.verdict != "right" else "", _stated(checked, digits, corrected))
    if right is not None and not corrected:
        yield _block("right", _value(right, digits))
    followed = checked.from_stated
    if checked.verdict != "right" and followed is not None and not same(right, followed):
        yield _block("from the stated steps", _value(followed, digits))


def _block(heading: str, content: str) -> str:
    return f'<div class="block">{f"<p class=quiet>{heading}</p>" if heading else ""}{content}</div>'


def _stated(checked: CheckedStep, digits: int | None, corrected: bool) -> str:
    stated, right = checked.step.stated, checked.right
    assert stated is not None
    leaves, verdicts = list(items(stated.written)), list(items(checked.elements))
    truths = shown(right, digits) if corrected and right is not None else [""] * len(leaves)
    cells = [_cell(as_written(leaf), *rest) for leaf, *rest in zip(leaves, verdicts, truths, strict=True)]
    return _table(cells, stated.values.shape if stated.values is not None else (len(cells),))


def _cell(written: str, verdict: Verdict | None, truth: str) -> Cell:
    """A stated number; struck, with the right one beside it, unless it may stand. What is not stated is told."""
    text = escape(written)
    if verdict == "right":
        return text, ""
    if verdict is None:
        return text, f'<span class="quiet">{escape(truth)}</span>'
    spoken = f'<span class="spoken"> {verdict}</span>'
    if verdict == "rounded":
        return f'<span class="rounded">{text}</span>{spoken}', '<span class="rounded" aria-hidden="true">≈</span>'
    beside = f'<ins><span class="spoken">right: </span>{escape(truth)}</ins>' if truth else ""
    return f'<del class="{verdict}">{text}</del>{spoken}', beside


def _value(value: Value, digits: int | None) -> str:
    return _table([(escape(text), "") for text in shown(value, digits)], value.shape)


def _table(cells: list[Cell], shape: tuple[int, ...]) -> str:
    """A single number as it is; more as a matrix, cut off where it would fill pages."""
    if not shape:
        return f'<span class="number">{"".join(cells[0])}</span>'
    width = max(shape[-1], 1)
    rows = [cells[start : start + width] for start in range(0, len(cells), width)]
    kept = [row[:MOST_COLUMNS] for row in rows[:MOST_ROWS]]
    wide = [any(beside for _, beside in column) for column in zip(*kept, strict=True)]
    cut = "<td>…</td>" if width > MOST_COLUMNS else ""
    lines = ["".join(map(_columns, row, wide)) + cut for row in kept]
    if len(rows) > MOST_ROWS:
        lines.append("<td>…</td>")
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table class="matrix"><tbody>{body}</tbody></table></div>'


def _columns(cell: Cell, wide: bool) -> str:
    """Numbers below numbers, corrections below corrections."""
    number, beside = cell
    return f'<td>{number}</td><td class="beside">{beside}</td>' if wide else f"<td>{number}</td>"
