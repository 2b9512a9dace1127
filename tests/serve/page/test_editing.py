"""Worked examples: numbers are changed, and what follows is computed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

Visit = Callable[..., Any]


def test_a_worked_example_is_computed_again_while_it_is_edited(visit: Visit) -> None:
    visitor = visit(tab="worked")
    page = visitor.page
    page.get_by_role("button", name="W6").click()
    scores = page.locator(".working li").first
    expect(scores.locator(".verdict")).to_have_text("✗ wrong")
    right = {"row 1, column 1": "0.22", "row 1, column 2": "0.18", "row 2, column 1": "0.41", "row 2, column 2": "0.39"}
    for place, value in right.items():
        page.get_by_label(f"scores, {place}").fill(value)
    expect(scores.locator(".verdict")).to_have_text("✓ right")
    expect(page.locator(".working li").nth(1).locator(".verdict")).to_have_text("✗ wrong")  # was carried: now its own
    field = page.get_by_label("scores, row 1, column 1")
    field.press("ArrowUp")
    expect(field).to_have_value("0.23")
    expect(field).to_have_attribute("aria-label", "scores, row 1, column 1, wrong")
    # 0.1 · 0.2 + 0.5 · 0.5 = 0.27
    page.get_by_label("Q, row 1, column 2").fill("0.5")
    expect(scores.locator(".block").nth(1).locator(".number").first).to_have_text("0.27")
    page.get_by_role("button", name="As it was").click()
    expect(field).to_have_value("0.28")
    expect(scores.locator(".verdict")).to_have_text("✗ wrong")


def test_what_is_no_number_is_said_until_it_is_one(visit: Visit) -> None:
    visitor = visit(tab="worked", complains=True)
    page = visitor.page
    page.get_by_role("button", name="W6").click()
    page.get_by_label("Q, row 1, column 1").fill("0.x")
    expect(visitor.alert()).to_contain_text("'0.x' is not a number")
    page.get_by_label("Q, row 1, column 1").fill("0.1")
    expect(visitor.alert()).to_be_hidden()
