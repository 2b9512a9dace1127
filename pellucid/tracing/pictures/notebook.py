"""What a notebook shows of a trace, and of how a model learned: the first positions, with the way to the rest."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from pellucid.notebook import bar, heading, matrix, page, quiet, table, text
from pellucid.tracing.trace import Trace

if TYPE_CHECKING:
    from pellucid.tracing.learning import Learning

MOST = 32  # tokens of a side
MORE = ".plot() draws it, .open(value, *index) shows how a number is computed, .to_html() is the whole report"


def trace_page(trace: Trace) -> str:
    direction = f"{trace.source} → {trace.target}, " if trace.source else ""
    origin = "the target was given" if trace.given else f"translated by {trace.engine}"
    return page(
        heading(trace.text, trace.translation),
        quiet(f"{direction}model {trace.model}, {origin}, every number by the reference"),
        *map(quiet, islice(trace.notes, MOST)),
        _what_if(trace, trace.changed) if trace.changed else "",
        table(("token", "probability", "next best"), _steps(trace)),
        quiet(f"Alignment: attention weights of target tokens (rows) on source tokens, percent{_cut(trace)}"),
        matrix(
            trace.alignment[:MOST, :MOST].tolist(),
            [token.text for token in trace.target_out[:MOST]],
            [token.text for token in trace.source_tokens[:MOST]],
        ),
        quiet(MORE),
    )


def learning_page(learning: Learning) -> str:
    watched, every = learning.watched, learning.moments
    moments = [every[round(at * (len(every) - 1) / (MOST - 1))] for at in range(MOST)] if len(every) > MOST else every
    target = learning.target_tokens[:MOST]
    shares = [[moment.probabilities[place] for moment in moments] for place in range(len(target))]
    return page(
        heading(watched.source.text, learning.target),
        quiet(f"run {watched.snapshots.run}, {len(every)} snapshots; probabilities of the target's tokens, percent"),
        matrix(shares, target, [f"step {moment.step:,}" for moment in moments]),
        table(
            ("step", "loss", "the model's translation"),
            [(f"{moment.step:,}", f"{moment.loss:.3f}", text(moment.translation)) for moment in moments],
        ),
        quiet(".plot() draws it, .at(step) is the whole trace at a step, .to_html() has a slider over the steps"),
    )


def _steps(trace: Trace) -> list[tuple[str, str, str]]:
    rows = []
    for step in trace.steps[:MOST]:
        others = [each for each in step.candidates if each.id != step.chosen.id][:3]
        best = "&nbsp; ".join(f"{text(each.text)} {each.probability:.1%}" for each in others)
        rows.append((text(step.chosen.text), bar(step.chosen.probability), best))
    return rows


def _what_if(trace: Trace, changed: Trace) -> str:
    rows = [
        (text(step.chosen.text), bar(step.chosen.probability), bar(after))
        for step, after in zip(trace.steps[:MOST], changed.original_probabilities, strict=False)
    ]
    return (
        quiet(f"What if: {', '.join(changed.interventions.given)}")
        + heading(changed.text, changed.translation)
        + table(("token of the original", "before", "with the change"), rows)
    )


def _cut(trace: Trace) -> str:
    longest = max(len(trace.source_tokens), len(trace.target_out))
    return f"; the first {MOST} tokens" if longest > MOST else ""
