"""A checked example without its answers: verdicts and hints, for those who are to find the answers themselves."""

from __future__ import annotations

from dataclasses import replace

from pellucid.worked.checker import CheckedExample, CheckedStep
from pellucid.worked.examples import Example
from pellucid.worked.numbers import items
from pellucid.worked.plain import to_toml

MOST_PLACES = 4
# Causes that go on, after a colon, with numbers that are stated or right.
SHAPE = "a shape that does not fit"
WITH_VALUES = (SHAPE, "a copied row", "a distribution", "an average", "a broken", "no position")


def empty(example: Example) -> str:
    """The example as a sheet in which nothing is stated yet."""
    sheet = to_toml(replace(example, steps=[replace(step, stated=None, asked=True) for step in example.steps]))
    return f'# Write your results in place of each "?".\n{sheet}'


def without_answers(checked: CheckedExample, hints: int) -> CheckedExample:
    """No value but those stated. Hints: 0 none, 1 where to look, 2 also the likely cause."""
    return replace(checked, steps=[_hidden(step, hints) for step in checked.steps])


def _hidden(checked: CheckedStep, hints: int) -> CheckedStep:
    hint = _first_hint(checked) if checked.verdict == "wrong" and hints else None
    return replace(checked, right=None, from_stated=None, hint=hint, cause=_likely(checked) if hints > 1 else None)


def _first_hint(checked: CheckedStep) -> str:
    """Which numbers to look at, and what they should follow from."""
    needs = ", ".join(sorted(checked.step.needs()))
    source = f" from {needs}" if needs else ""
    verdicts = list(items(checked.elements)) if checked.elements is not None else []
    wrong = [place + 1 for place, verdict in enumerate(verdicts) if verdict == "wrong"]
    if checked.cause and checked.cause.startswith(SHAPE):
        return f"{SHAPE}: " + (checked.cause.partition("; ")[2] or "count the rows and columns")
    if len(verdicts) < 2 or len(wrong) == len(verdicts):
        return f"work this again{source}"
    places = ", ".join(map(str, wrong[:MOST_PLACES])) + (", …" if len(wrong) > MOST_PLACES else "")
    return f"work number {places} again{source}" if len(wrong) == 1 else f"work numbers {places} again{source}"


def _likely(checked: CheckedStep) -> str | None:
    if checked.verdict != "wrong":
        return None
    if checked.cause is None:
        return "none of the known slips gives this: check the arithmetic"
    return checked.cause.partition(":")[0] if checked.cause.startswith(WITH_VALUES) else checked.cause
