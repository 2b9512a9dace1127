"""What holds of every lab: a verdict that turns, the same data from the same seed, clear errors, an end when asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any

import pytest

from pellucid.errors import UserError
from pellucid.labs import DATA, NAMES, Result, committed, lab
from pellucid.labs.parts.lab import LabConfig, Progress, rounded

Quick = Callable[..., Result]
FIGURES = {
    "lines": {"x", "y", "series"},
    "bars": {"categories", "y", "groups"},
    "points": {"x", "y", "groups"},
    "matrix": {"signed", "panels", "rows", "columns"},
    "table": {"headings", "rows"},
}


SHORT = {"recurrence": "not decided", "tasks": "not decided", "positions": "refuted"}
"""The verdicts of quick runs that are too short for that of the full run; what they do show is in their own tests."""


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_is_that_of_the_full_run_and_turns_when_the_subject_is_broken(name: str, quick: Quick) -> None:
    verdict = quick(name).verdict
    expected = SHORT.get(name, committed(name).verdict.outcome)
    assert verdict.outcome == expected
    assert quick(name, broken=True).verdict.outcome != verdict.outcome


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_data_to_the_last_digit(name: str, quick: Quick) -> None:
    def data(result: Result) -> dict[str, Any]:
        return {key: value for key, value in result.data.items() if key != "timing"}

    assert data(lab(name).run(quick=True)) == data(quick(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_result_is_a_full_run_of_at_least_five_seeds(name: str) -> None:
    result = committed(name)
    defaults = {key: setting.default for key, setting in lab(name).settings.settings().items()}
    assert result.settings == {key: value for key, value in defaults.items() if value is not None}
    assert result.settings["seeds"] >= 5
    assert result.command == f"pellucid lab {name}"
    assert (DATA / f"{name}.json").stat().st_size < 120_000
    assert result.data == rounded(result.data)


@pytest.mark.parametrize("name", NAMES)
def test_words_and_figures_are_whole(name: str, quick: Quick) -> None:
    for result in (committed(name), quick(name), quick(name, broken=True)):
        plain = json.loads(json.dumps(result.plain(), allow_nan=False))
        assert result.verdict.sentence.endswith(".")
        assert plain["figures"]
        for figure in plain["figures"]:
            assert figure.keys() == FIGURES[figure["kind"]] | {"kind", "title", "note"}
            for curve in figure.get("series", []):
                assert len(curve["x"]) == len(curve["y"]) > 0
            for each in figure.get("groups", []) if figure["kind"] == "bars" else []:
                assert len(each["values"]) == len(figure["categories"])
            for panel in figure.get("panels", []):
                assert {len(row) for row in panel["values"]} in ({len(figure["columns"])}, {len(panel["values"][0])})
            assert all(len(row) == len(figure["headings"]) for row in figure.get("rows", []) if "headings" in figure)
            assert len(figure.get("series", [])) <= 6  # more cannot be told apart
    found = lab(name)
    for words in (found.question, found.notes, found.method, found.criterion, found.refuted_by, found.broken):
        assert re.search(r"[.?]$", words)


@pytest.mark.parametrize("name", NAMES)
def test_a_lab_reports_its_progress_and_ends_when_it_is_closed(name: str) -> None:
    steps = lab(name).steps(lab(name).configure(quick=True))
    assert isinstance(steps, Generator)
    first = next(steps)
    assert isinstance(first, Progress)
    assert 0 <= first.done <= 1
    steps.close()
    with pytest.raises(StopIteration):
        next(steps)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_has_bounds_and_all_wrong_ones_are_reported_at_once(name: str) -> None:
    settings = lab(name).settings.settings()
    for setting in settings.values():
        bounded = setting.minimum is not None and setting.maximum is not None
        assert bounded or setting.choices or bool in setting.types, f"{setting.name} could take any time"
    with pytest.raises(UserError) as caught:
        lab(name).configure(seeds=0, seed="one", nonsense=1)
    assert [problem.where for problem in caught.value.problems] == ["nonsense", "seed", "seeds"]
    assert set(lab(name).quick) <= set(settings)


def test_an_unknown_lab_is_reported() -> None:
    with pytest.raises(UserError, match="did you mean 'xor'"):
        lab("xo")


def test_without_torch_a_lab_that_needs_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pellucid.labs.parts.lab.find_spec", lambda _: None)
    for name in NAMES:
        assert committed(name).plain()["figures"]  # viewing needs none
        if lab(name).needs_torch:
            with pytest.raises(UserError, match=r"needs? torch.*--show"):
                lab(name).run(quick=True)


def test_seeds_count_on_from_the_first() -> None:
    assert LabConfig(seed=7, seeds=3).all_seeds == [7, 8, 9]


def test_data_is_kept_with_six_significant_digits() -> None:
    exact = {"a": [1.23456789e-13, (2.0, 0.0)], "b": 123456.789, "c": 7, "d": "1.23456789"}
    assert rounded(exact) == {"a": [1.23457e-13, [2.0, 0.0]], "b": 123457.0, "c": 7, "d": "1.23456789"}
