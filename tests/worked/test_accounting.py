"""Every number and every claim of the study notes has its verdict, and nothing is said to be theirs that is not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pellucid.labs import NAMES, committed, lab
from pellucid.worked import check, read, shipped
from pellucid.worked.notes import claims, markdown, table
from pellucid.worked.numbers import as_written, items
from pellucid.worked.written import read_number

TABLE = [f"C{number}" for number in range(1, 21)]
EXAMPLES: dict[str, Any] = table()["examples"]
# The numbers that the notes state in each example, copied from them; what they are given is not repeated.
STATED = {
    "W1": "64 589824 1769472",
    "W2": ".665 .245 .090 11.11 .25 .25 .25",
    "W4": "0 1 0 1 .8415 .5403 .8415 .5403 .9093 -.4161 .9093 -.4161 .1411 -.9899 .1411 -.9899 3",
    "W5": ".2 1.1 .3 2.4 1.3415 .9403 1.1415 .7403",
    "W6": ".28 .22 .54 .42 .198 .155 .382 .297 .537 .463 .521 .479 1.027 .993 1.016 1.001",
    "W7": ".1 .3 .3 .2 .2 .6 .5 .1 .1 .7 .3 .2 .2 .6 .6 .2 .3 .4 .27 .27 .36 .93 .44 .79 .26 .21 .84 1.14 .75 .95 "
    ".32 .13 .73 .22 .226 .092 .516 .156 .533 .467 .588 .412 .80 1.04 .79 1.09 "
    ".80 1.04 .72 1.01 .79 1.09 .65 1.12 2.008 2.032 2.011 2.118",
    "W8": ".43 .41 .50 .35 .73 .85 .64 .58 .60 .73 .49 .46 .52 .70 .36 .47 "
    ".45 .2 .25 .15 .4 .35 .2 .3 .3 .25 .3 .35 .2 .15 .25 .3 .45 .6 .5 .4 .3 .6 .3 .4 .5 .6 1 0 0 0 .67 .33 "
    ".43 .41 .50 .35 .56 .56 .53 .47 .45 .38 .53 .49 .40 .41 .44 .46 .43 .41 .50 .35 .34 .56 .57 .45 5",
    "W9": ".49 .24 .32 .41 .197 .002 .296 .041 .2 .4 .1 .7 .6 -.2 -.4 .9 2 2",
    "W10": "3 7 5 4 2 -1 1 -1 1",
    "W11": "23 49 45 28 33 66 66 40 40 39 36 20 59 48 59 28 51 36 45 46 68 53 63 58 2505.5 3574 3574.0 0 1 "
    "68 53 63 58 74 54 67 62",
    "W13": "6 512 512 6 6 6 6 512",
    "W15": ".56 -.33 .45",
}


def test_every_claim_has_a_verdict_and_something_that_shows_it() -> None:
    assert [claim.id for claim in claims()] == TABLE
    measured = {c: tuple(name for name in NAMES if c in lab(name).claims.split(", ")) for c in TABLE}
    assert {claim.id: claim.labs for claim in claims()} == measured
    assert all(claim.verdict and claim.shown_by for claim in claims())
    verdicts = {claim.id: claim.verdict for claim in claims()}
    assert (verdicts["C9"], committed("diagonal").verdict.outcome) == ("not a law", "refuted")
    assert verdicts["C17"].startswith("wrong")
    assert measured["C17"] == ("forcing",)
    steps = {f"{read(str(path)).id} {step.name}" for path in shipped() for step in read(str(path)).steps}
    assert {claim.step for claim in claims()} - {""} <= steps


def written(stated: Any, elements: Any) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for leaf, verdict in zip(items(stated.written), items(elements), strict=True):
        if verdict:
            groups.setdefault(verdict, []).append(as_written(leaf).replace("−", "-"))
    return groups


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.stem)
def test_every_name_and_number_of_an_example_is_accounted_for(path: Path) -> None:
    checked = check(read(str(path)))
    entry = EXAMPLES[checked.example.id]
    theirs = [step for step in checked.steps if step.step.stated is not None and not step.step.ours]
    names = {*checked.example.inputs, *(step.step.name for step in checked.steps)}
    listed = [*entry["given"], *entry["ours"], *entry.get("stated", {})]
    assert Counter(listed) == Counter(names)
    assert set(entry.get("stated", {})) == {step.step.name for step in theirs}
    for step in theirs:
        groups = {verdict: " ".join(numbers) for verdict, numbers in written(step.step.stated, step.elements).items()}
        assert entry["stated"][step.step.name] == groups, step.step.name
    verdicts = {step.step.name: step.verdict for step in checked.steps}
    for claim in entry.get("words", []):
        if claim["verdict"] == "not worked":
            assert verdicts[claim["step"]] is None
        else:
            assert verdicts[claim["step"]] == claim["verdict"], claim["text"]


@pytest.mark.parametrize("identity", EXAMPLES)
def test_every_number_of_the_notes_is_in_the_table_and_no_other(identity: str) -> None:
    found: Counter[float] = Counter()
    for step, groups in EXAMPLES[identity].get("stated", {}).items():
        numbers = [read_number(text) for group in groups.values() for text in group.split()]
        if identity in ("W5", "W8") and step in ("positions", "output_as_values", "masked"):
            numbers = [number for number in numbers if number and abs(number.value) < 1e9]
        if (identity, step) in (("W5", "positions"), ("W8", "output_as_values"), ("W9", "hidden"), ("W10", "at_once")):
            continue  # said again: the positions of W4, the values of W8, the same first layer, the same result
        found += Counter(round(number.value, 9) for number in numbers if number is not None)
    assert found == Counter(round(float(text), 9) for text in STATED.get(identity, "").split())


def test_the_manual_has_the_table() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "notes.md").read_text(encoding="utf-8")
    assert markdown() in manual
