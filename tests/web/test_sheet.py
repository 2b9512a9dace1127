"""The sheet of checked examples in a browser: verdicts in words, wrong numbers struck, right ones beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pellucid.worked import CheckedExample, check, read, shipped, templates
from pellucid.worked.classroom.hints import without_answers
from pellucid.worked.examples import read_text
from pellucid.worked.page import page

Open = Callable[[list[CheckedExample]], Any]


@pytest.fixture
def sheet(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the sheet of some examples."""
    tab = browser.new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda fault: complaints.append(str(fault)))

    def opened(examples: list[CheckedExample]) -> Any:
        (tmp_path / "sheet.html").write_text(page(examples), encoding="utf-8")
        tab.goto((tmp_path / "sheet.html").as_uri())
        return tab

    yield opened
    tab.close()
    assert complaints == []


def own(text: str) -> CheckedExample:
    return check(read_text(text, "own.toml"))


def test_every_example_is_drawn_with_its_formulas_verdicts_and_causes(sheet: Open) -> None:
    checked = [check(read(str(path))) for path in (*shipped(), *templates().values())]
    tab = sheet(checked)
    steps = [step for example in checked for step in example.steps]
    words = [text.split()[-1] for text in tab.locator(".verdict").all_inner_texts()]
    assert words == [step.verdict or "stated" for step in steps]  # "not stated"
    assert tab.locator(".working math").count() == len(steps)
    assert tab.locator("math parsererror").count() == 0
    assert tab.evaluate("document.querySelector('math').namespaceURI") == "http://www.w3.org/1998/Math/MathML"
    causes = [text for text in tab.locator(".cause").all_inner_texts() if text]
    assert causes == [f"Likely cause: {step.cause}." for step in steps if step.cause]
    wrong = sum(step.verdict == "wrong" for step in steps)
    assert f"✗ {wrong} wrong a new mistake" in tab.locator("header").inner_text()


def test_a_sheet_without_answers_has_hints(sheet: Open) -> None:
    tab = sheet([without_answers(check(read("W6")), 1)])
    hints = [text for text in tab.locator(".cause").all_inner_texts() if text]
    assert hints == [
        "Hint: work this again from K, Q.",
        "Hint: work numbers 1, 2 again from scaled.",
        "Hint: work numbers 1, 3, 4 again from V, weights.",
    ]
    assert "0.5071" not in tab.content()


def test_wrong_numbers_are_struck_and_right_ones_stand_beside(sheet: Open) -> None:
    tab = sheet([check(read("W6"))])
    struck = tab.locator("del").all_inner_texts()
    assert struck[:8] == ["0.28", "0.22", "0.54", "0.42", "0.198", "0.155", "0.382", "0.297"]
    right = tab.locator(".block", has=tab.get_by_text("right", exact=True))
    beside = [number.strip() for number in right.locator(".number").all_inner_texts()]
    assert beside[:8] == ["0.22", "0.18", "0.41", "0.39", "0.1556", "0.1273", "0.2899", "0.2758"]
    spoken = {text.strip() for text in tab.locator("td .spoken").all_text_contents()}
    assert spoken == {"wrong", "carried"}  # not told by colour alone


def test_where_a_number_is_not_stated_the_right_one_is_shown(sheet: Open) -> None:
    tab = sheet([own('[[steps]]\nname = "a"\nexpression = "[1, 2]"\nstated = [1, "?"]')])
    assert [text.split() for text in tab.locator(".block").all_inner_texts()] == [
        ["stated", "1", "?"],
        ["right", "1", "2"],
    ]
    tab = sheet([own('[[steps]]\nname = "a"\nexpression = "[1, 2]"\nstated = [1, 2]')])
    assert [text.split() for text in tab.locator(".block").all_inner_texts()] == [["stated", "1", "2"]]


def test_values_of_any_shape_are_read_row_by_row(sheet: Open) -> None:
    text = '[inputs]\nx = [[[1, -2]], [[inf, 0.5]]]\n[[steps]]\nname = "a"\nexpression = "x"\nstated = [[1, 2], [3]]'
    tab = sheet([own(text)])
    assert tab.locator(".inputs tr").all_inner_texts() == ["1\t−2", "∞\t0.5"]
    assert tab.locator(".blocks .block").first.locator("tr").count() == 2


def test_large_values_do_not_fill_the_page(sheet: Open) -> None:
    small, large = (own(f'[[steps]]\nname = "a"\nexpression = "ones({n}, {n})"\nstated = 1') for n in (2, 300))
    assert len(page([large])) - len(page([small])) < 8_000
    tab = sheet([large])
    assert tab.locator(".matrix tr").count() == 24
    assert tab.locator(".matrix td").count() == 24 * 16
    assert "the beginning of 300 × 300" in tab.locator(".blocks").inner_text()
