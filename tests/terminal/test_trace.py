"""A trace in the terminal: what is shown, in any width and any encoding."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from pellucid.terminal.trace import print_trace
from pellucid.tracing import Trace, explain

MakeModel = Callable[..., Path]


def shown(trace: Trace, width: int = 100, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_trace(trace, Console(file=stream, width=width, highlight=False))
    stream.flush()
    stream.seek(0)
    return stream.read()


@pytest.fixture(scope="module")
def trace(make_model: MakeModel) -> Trace:
    return explain(make_model(), "the cat", "en", "de", target_text="ein Hund")


def test_shows_tokens_steps_and_beam(trace: Trace) -> None:
    text = shown(trace)
    assert "the cat  →  ein Hund" in text
    assert "the target was given" in text
    for token in trace.source_tokens:
        assert f"{token.text} {token.id}" in text
    for step in trace.steps:
        assert f"{step.chosen.probability:6.1%}" in text
    assert f"{trace.beam.finished[0].score:.3f} ★" in text


def test_the_alignment_has_a_block_and_a_number_for_each_pair(trace: Trace) -> None:
    known = np.zeros(trace.alignment.shape)
    known[:, 0], known[0, :2] = 1.0, (0.26, 0.74)
    lines = shown(replace(trace, alignment=known)).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("Alignment"))
    assert "▂ 26" in lines[start + 2]
    assert "▆ 74" in lines[start + 2]
    assert all("█100" in line for line in lines[start + 3 : start + 2 + len(trace.target_out)])


@pytest.mark.parametrize("width", [20, 40, 80])
def test_fits_the_terminal(trace: Trace, width: int) -> None:
    assert all(cell_len(line.rstrip()) <= width for line in shown(trace, width).splitlines())


def test_a_narrow_terminal_wraps_the_next_best_and_cuts_no_other_column(trace: Trace) -> None:
    long = [replace(each, text=each.text + "x" * 12, probability=0.2) for each in trace.steps[0].candidates]
    text = shown(replace(trace, steps=(replace(trace.steps[0], candidates=tuple(long)), *trace.steps[1:])), 80)
    assert "top-p 0.9" in text
    assert all(f"from {step.pools[-1].size}" in text for step in trace.steps)


def test_too_many_tokens_for_a_table_are_listed(make_model: MakeModel) -> None:
    trace = explain(make_model(), "the cat sat on the mat by the old tree " * 3, "en", "de", target_text="ein Hund")
    text = shown(trace, 80)
    best = int(trace.alignment[0].argmax())
    assert f"{trace.source_tokens[best].text} {trace.alignment[0, best]:.0%}" in text


def test_a_terminal_without_unicode_gets_letters(trace: Trace) -> None:
    text = shown(trace, encoding="ascii")
    assert "the cat  >  ein Hund" in text
    assert "?" not in text


def test_marks_where_the_engine_would_differ(trace: Trace) -> None:
    steps = (replace(trace.steps[0], differs=True), *trace.steps[1:])
    text = shown(replace(trace, steps=steps))
    assert f"{trace.steps[0].chosen.text} ≠" in text
    assert "has another likeliest token" in text
    assert "≠" not in shown(trace)


def test_markup_that_people_type_is_text(make_model: MakeModel) -> None:
    typed = "[bold red]the cat[/bold red] [link=x]"
    assert typed in shown(explain(make_model(), typed, "en", "de", target_text="[/]"))
