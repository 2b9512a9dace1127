"""Figures of labs: those in docs/ are drawn from the committed data, and can be told apart without colour."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pellucid.labs import NAMES, committed
from pellucid.labs.page import page as labs_page
from pellucid.web.bundle import read
from scripts.labs import DOCUMENT, PICTURES, pictures, with_labs

FIX = "run: python scripts/labs.py"


def test_the_document_is_made_from_the_committed_data() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert with_labs(text, [committed(name) for name in NAMES]) == text, FIX


def test_the_pictures_are_made_from_the_committed_data(browser: Any) -> None:
    tab = browser.new_page()
    drawn = pictures(tab, [committed(name) for name in NAMES])
    tab.close()
    assert set(drawn) == {path.name for path in PICTURES.glob("lab-*.svg")}, FIX
    for name, content in drawn.items():
        assert (PICTURES / name).read_text(encoding="utf-8") == content, FIX
        assert ElementTree.fromstring(content).tag.endswith("svg")


def test_the_page_of_a_result_stands_for_itself(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "labs.html"
    file.write_text(labs_page([committed(name) for name in NAMES]), encoding="utf-8")
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    complaints: list[str] = []
    tab.on("pageerror", lambda fault: complaints.append(str(fault)))
    tab.goto(file.as_uri())
    tab.locator("svg.chart").first.wait_for()
    assert tab.locator("article").count() == len(NAMES)
    assert tab.locator(".outcome").all_inner_texts() == [committed(name).verdict.outcome for name in NAMES]
    tab.locator("summary").first.click()
    assert tab.locator("details[open] td").first.inner_text()
    assert tab.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth") == 0
    tab.close()
    assert complaints == []


@cache
def theme() -> tuple[dict[str, str], dict[str, str]]:
    """The colours of the light and of the dark theme."""
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w{6});", block))
        for block in re.findall(r":root \{(.*?)\}", read("theme.css"), re.DOTALL)
    )
    return light, dark


def linear(colour: str) -> list[float]:
    """Red, green and blue as amounts of light."""
    shares = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    return [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1])
def test_a_series_stands_out_from_the_card_in_light_and_dark(scheme: int) -> None:
    """WCAG asks for a contrast of 3 for what has to be seen in a figure."""
    colours = theme()[scheme]
    for number in range(1, 7):
        pair = sorted([luminance(colours[f"series-{number}"]), luminance(colours["card"])])
        assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 3


def test_no_two_series_are_told_apart_by_colour_alone() -> None:
    css = read("labs/labs.css")
    dashes = [re.search(rf"\.curve\.s{number} \{{ stroke-dasharray: ([^;]+);", css) for number in range(2, 7)]
    assert len({found[1] for found in dashes if found}) == 5  # the first has none
    marks = re.search(r"const MARKS = \[(.*?)\n\];", read("labs/chart.js"), re.DOTALL)
    assert marks
    assert len(set(marks[1].strip().splitlines())) == 6


@pytest.mark.parametrize("scheme", [0, 1])
def test_the_first_three_series_differ_for_those_who_confuse_red_and_green(scheme: int) -> None:
    """The colours as they look with deuteranopia (Viénot, Brettel and Mollon 1999): their difference stays visible."""
    matrix = [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]
    seen = []
    for number in (1, 2, 3):
        light = linear(theme()[scheme][f"series-{number}"])
        mixed = [sum(weight * part for weight, part in zip(row, light, strict=True)) for row in matrix]
        seen.append([max(0.0, part) ** (1 / 2.2) for part in mixed])
    for first, second in combinations(seen, 2):
        assert sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5 > 0.15
