"""The tab of labs: committed results without a run, a run with settings of one's own, a stop, an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from pellucid.labs import NAMES, committed, lab

Visit = Callable[..., Any]


def test_every_lab_is_shown_with_its_verdict_and_figures(visit: Visit) -> None:
    page = visit(tab="labs").page
    buttons = page.locator("#lab-list button")
    expect(buttons).to_have_count(len(NAMES))
    for at, name in enumerate(NAMES):
        buttons.nth(at).click()
        result = committed(name)
        expect(page.locator("#lab h2")).to_have_text(result.lab.title)
        expect(page.locator("#lab .outcome")).to_have_text(result.verdict.outcome)
        expect(page.locator("#lab .result")).to_contain_text(result.verdict.sentence)
        for words in (result.lab.notes, result.lab.criterion, result.lab.refuted_by):
            expect(page.locator("#lab .words")).to_contain_text(words)
        figures = result.lab.draw(result.data)
        expect(page.locator("#lab .result figure")).to_have_count(len(figures))
        pictures = sum(figure["kind"] != "table" for figure in figures)
        expect(page.locator("#lab .result svg.chart")).to_have_count(pictures)


def test_a_run_with_settings_of_ones_own(visit: Visit) -> None:
    page = visit(tab="labs").page
    form = page.get_by_role("form", name="Run this experiment")
    sliders = form.get_by_role("slider")
    bounded = sum(setting.maximum is not None for setting in lab("xor").settings.settings().values())
    expect(sliders).to_have_count(bounded)
    form.get_by_label("break it").check()
    updates = form.get_by_label("updates")
    updates.focus()
    page.keyboard.press("Home")
    expect(form.locator("label", has_text="updates").locator("b")).to_have_text("10")
    form.get_by_role("button", name="Run").click()
    expect(page.locator("#lab .origin")).to_contain_text("Your run: pellucid lab xor --seeds 2 --broken --updates 10")
    expect(page.locator("#lab .outcome")).to_have_text("refuted")
    expect(form.get_by_role("status")).to_have_text("The run has ended.")
    page.locator("#lab-list button").first.click()
    expect(page.locator("#lab .origin")).to_contain_text("Committed result")


def test_a_run_draws_its_curve_and_can_be_stopped(visit: Visit) -> None:
    page = visit(tab="labs").page
    form = page.get_by_role("form", name="Run this experiment")
    form.get_by_label("seeds").focus()
    page.keyboard.press("End")
    form.get_by_label("updates").focus()
    page.keyboard.press("End")
    expect(form.locator("label", has_text="updates").locator("b")).to_have_text("20000")
    form.get_by_role("button", name="Run").press("Enter")
    expect(page.locator("#lab .live svg .curve").first).to_be_attached()
    expect(form.get_by_role("progressbar")).to_be_visible()
    form.get_by_role("button", name="Stop").click()
    expect(form.get_by_role("button", name="Stop")).to_be_hidden()
    expect(page.locator("#lab .origin")).to_contain_text("Committed result")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_the_reason_is_shown_when_a_run_is_refused(visit: Visit, serve: Callable[..., Any]) -> None:
    page = visit(serve(lab_timeout=0).url, tab="labs", complains=True).page
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("Labs cannot be started on this server")


@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "dark"), (1440, "light"), pytest.param(390, "light", marks=pytest.mark.proof)]
)
def test_labs_fit_and_can_be_used_by_everyone(visit: Visit, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    visitor = visit(tab="labs", width=width, scheme=scheme)
    page = visitor.page
    for button in page.locator("#lab-list button").all():
        button.click()
        expect(button).to_have_attribute("aria-current", "true")
        expect(page.locator("#lab .result svg.chart text").first).to_be_attached()
        assert visitor.overflow() == 0, button.inner_text()
        sizes = page.locator("svg.chart text").evaluate_all(
            "all => all.map((each) => [parseFloat(getComputedStyle(each).fontSize), each.getScreenCTM()])"
            ".map(([size, { a, b }]) => size * Math.hypot(a, b))"
        )
        assert min(sizes) >= 11, "letters of a figure are too small to read"
    found = Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
