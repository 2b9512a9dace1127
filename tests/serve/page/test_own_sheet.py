"""A sheet that is not the project's: opened, edited, saved and shared; what is wrong with it stands beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from pellucid.worked.examples import read_text

Visit = Callable[..., Any]
SHEET = """
id = "prices"
title = "Three prices, weighted"
[inputs]
p = [1.5, 2.0, 4.0]
w = ["1/2", "0,25", "25 %"]
[[steps]]
name = "mean"
expression = "w @ p"
stated = 2.15
[[steps]]
name = "off"
expression = "p - mean"
stated = "?"
"""


def opens(page: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "prices.toml").write_text(text, encoding="utf-8")
    page.get_by_label("Open a sheet").set_input_files(tmp_path / "prices.toml")


def test_a_sheet_is_opened_edited_saved_and_shared(visit: Visit, tmp_path: Path) -> None:
    visitor = visit(tab="worked")
    page = visitor.page
    opens(page, tmp_path, SHEET)
    expect(page.locator("#example h2")).to_contain_text("Three prices, weighted")
    verdicts = page.locator(".working .verdict")
    expect(verdicts).to_have_text(["✗ wrong", "open"])  # 0.75 + 0.5 + 1 = 2.25
    page.get_by_label("mean", exact=False).first.fill("2,25")
    expect(verdicts).to_have_text(["✓ right", "open"])
    for place, value in enumerate(("-0.75", "-1/4", "1.75"), start=1):
        page.get_by_label(f"off, place {place}").fill(value)
    expect(verdicts).to_have_text(["✓ right", "✓ right"])
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    assert download.value.suggested_filename == "prices.toml"
    saved = read_text(Path(download.value.path()).read_text(encoding="utf-8"), "prices.toml")
    assert [step.stated.written if step.stated else None for step in saved.steps] != [None, None]
    page.get_by_role("button", name="Share").click()
    address = page.get_by_label("Address of the sheet")
    expect(address).not_to_have_value("")
    other = visit()
    other.page.goto(address.input_value())
    expect(other.page.locator("#example h2")).to_contain_text("Three prices, weighted")
    expect(other.page.locator(".working .verdict")).to_have_text(["✓ right", "✓ right"])


def test_errors_stand_beside_the_field(visit: Visit, tmp_path: Path) -> None:
    visitor = visit(tab="worked", complains=True)
    page = visitor.page
    opens(page, tmp_path, SHEET)
    field = page.get_by_label("p, place 2")
    field.fill("2.x")
    beside = page.locator(".named", has=field).get_by_role("alert")
    expect(beside).to_contain_text("'2.x' is not a number")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("2")
    expect(beside).to_be_hidden()
    expect(page.locator("[aria-invalid=true]")).to_have_count(0)


def test_a_text_with_mistakes_says_where(visit: Visit, tmp_path: Path) -> None:
    visitor = visit(tab="worked", complains=True)
    page = visitor.page
    opens(page, tmp_path, SHEET.replace("w @ p", "w @ q"))
    problem = page.locator(".sheet").get_by_role("alert")
    expect(problem).to_contain_text("9:19: unknown name 'q'")
    page.get_by_label("Text of the sheet").fill(SHEET)  # open already, to be mended
    page.get_by_role("button", name="Check this text").click()
    expect(problem).to_be_hidden()
    expect(page.locator("#example h2")).to_contain_text("Three prices, weighted")
    page.goto(page.url.split("#")[0] + "#/worked?sheet=not-a-sheet")
    expect(visitor.alert().first).to_contain_text("does not hold a sheet")


def test_a_new_sheet_from_a_template_fits_every_width(visit: Visit) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for width, scheme in ((390, "dark"), (1440, "light")):
        visitor = visit(tab="worked", width=width, scheme=scheme)
        page = visitor.page
        page.get_by_label("New sheet from a template").select_option("attention")
        expect(page.locator("#example h2")).to_contain_text("attention")
        page.get_by_text("Text of the sheet").click()
        page.get_by_role("button", name="Share").click()
        expect(page.get_by_label("Address of the sheet")).to_be_visible()
        assert visitor.overflow() == 0
        serious = [e for e in Axe().run(page).response["violations"] if e["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
