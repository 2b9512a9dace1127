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

from pellucid.terminal.trace import print_formulas, print_trace
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


def test_the_formulas_are_those_of_the_trace(trace: Trace) -> None:
    stream = io.StringIO()
    print_formulas(trace, Console(file=stream, width=200, highlight=False))
    lines = [line.strip() for line in stream.getvalue().splitlines()]
    assert "Decoder, first layer: cross-attention" in lines
    assert f"R_1 = X_0 + Z   {len(trace.source_tokens)}×32" in lines
    assert f"S_i = where(mask, P_i, −∞)   {len(trace.target_in)}×{len(trace.target_in)}" in lines
    assert f"Z^c = concat(head_i^c) W_O^c + b_O^c   {len(trace.target_in)}×32" in lines
    assert "X_1 = (R_1 − μ_1) / √(σ²_1 + 0.00001) ⊙ γ_1 + β_1" in "\n".join(lines)
    assert sum(" = " in line for line in lines) == sum(not each.layer for each in trace.formulas)


def test_what_an_intervention_does_is_shown_beside_the_original(make_model: MakeModel) -> None:
    trace = explain(make_model(), "the cat", "en", "de", target_text="ein Hund", intervene=["positions=0"])
    assert trace.changed is not None
    text = shown(trace)
    assert "What if  positions=0" in text
    for step, after in zip(trace.steps, trace.changed.original_probabilities, strict=True):
        assert f"{step.chosen.probability:6.1%} → {after:6.1%}" in text
    assert all(cell_len(line.rstrip()) <= 40 for line in shown(trace, 40).splitlines())


def test_markup_that_people_type_is_text(make_model: MakeModel) -> None:
    typed = "[bold red]the cat[/bold red] [link=x]"
    assert typed in shown(explain(make_model(), typed, "en", "de", target_text="[/]"))
