"""The page as a whole: safe, whole at every width, usable by everyone, honest when the server is gone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from pellucid.decode.translator import load
from pellucid.labs import NAMES, lab
from pellucid.web.bundle import STATIC

Visit = Callable[..., Any]
TEXT = "one two three"
ATTACK = "<img src=x onerror='window.stolen=1'><script>window.stolen=1</script>"


def test_a_server_that_has_stopped_is_said(
    visit: Visit, serve_until_stopped: Callable[..., Any], number_model: Path
) -> None:
    server = serve_until_stopped(load(number_model))
    visitor = visit(server.client.url, complains=True)
    visitor.types(TEXT)
    visitor.translated()
    visitor.aligned()
    server.stop()
    server.thread.join()
    told = "The server does not answer. Is it still running?"
    visitor.types("four")
    expect(visitor.alert()).to_have_text(told)
    for tab in ("Inside", "Worked examples"):
        visitor.opens(tab)
        expect(visitor.alert()).to_have_text(told)


def test_text_is_text(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.types(ATTACK)
    visitor.translated()
    visitor.aligned()
    visitor.opens("Inside")
    page.locator(".stage h2").wait_for()
    expect(page.locator("#inside-status")).to_contain_text("<img src=x")
    assert len(list(visitor.stages())) > 30
    assert page.evaluate("window.stolen") is None
    assert page.locator("main img, main script").count() == 0


def test_the_tabs_are_worked_by_keyboard(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    page.get_by_role("tab", name="Translate").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tabpanel", name="Inside")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tabpanel", name="Learning")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tabpanel", name="Worked examples")).to_be_visible()
    expect(page.get_by_role("tab", name="Worked examples")).to_be_focused()
    page.go_back()
    expect(page.get_by_role("tabpanel", name="Learning")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("tabpanel", name="Inside")).to_be_visible()


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        (1440, "light"),
        pytest.param(390, "light", marks=pytest.mark.proof),
        pytest.param(1440, "dark", marks=pytest.mark.proof),
    ],
)
def test_everything_fits_and_can_be_used_by_everyone(visit: Visit, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    def sound(part: str) -> None:
        assert visitor.overflow() == 0, part
        found = Axe().run(page).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == [], part

    visitor = visit(width=width, scheme=scheme)
    page = visitor.page
    visitor.types(f"{TEXT} {'x' * 120}")
    visitor.translated()
    visitor.aligned()
    page.locator(".strategy small").nth(3).wait_for()
    page.locator("#alignment .word").nth(1).hover()
    sound("translate")
    visitor.opens("Inside")
    page.locator(".stage h2").wait_for()
    for stage in visitor.stages():
        assert visitor.overflow() == 0, stage
        if stage in (
            "map",
            "encoder.self_attention.softmax",
            "heads",
            "output.probabilities",
            "output.beam",
            "alignment",
        ):
            sound(stage)
    visitor.walks_to("encoder.self_attention.scores")
    visitor.reads(visitor.figure("encoder.layers.0.self_attention.scores"), "ArrowDown", "Enter")
    page.locator(".cell .operands").first.wait_for()
    page.locator("#what-if summary").click()
    page.get_by_role("button", name="Switch off").click()
    page.locator(".compared canvas").first.wait_for()
    sound("what if")
    page.locator(".stage canvas").first.click()
    page.locator(".cell .operands").first.wait_for()
    sound("a cell")
    visitor.opens("Worked examples")
    for example in page.locator("#examples button").all():
        example.click()
        assert visitor.overflow() == 0, example.inner_text()
    page.get_by_role("button", name="W8").click()
    sound("worked")


def test_the_page_has_nothing_inline_and_asks_only_its_own_server(client: Any) -> None:
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    page = answer.body.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    for path in (STATIC / "index.html", *STATIC.rglob("*.js"), *STATIC.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), path
        assert set(re.findall(r"https?://[^\s\"']+", text)) <= {
            f"http://www.w3.org/{name}" for name in ("1998/Math/MathML", "2000/svg")
        }, path


def test_the_lab_and_the_example_stand_in_the_address(visit: Visit) -> None:
    page = visit(address="/labs?lab=norms").page
    title = page.locator("#lab h2")
    expect(title).to_have_text(lab("norms").title)
    page.locator("#lab-list button").nth(0).click()
    expect(title).to_have_text(lab(NAMES[0]).title)
    expect(page).to_have_url(re.compile(rf"#/labs\?lab={NAMES[0]}$"))
    page.get_by_role("tab", name="Worked examples").click()
    example = page.locator("#example h2")
    expect(example).to_contain_text("W6")
    expect(page).to_have_url(re.compile(r"#/worked\?example=W6$"))
    page.get_by_role("button", name="W8").click()
    expect(example).to_contain_text("W8")
    expect(page).to_have_url(re.compile(r"#/worked\?example=W8$"))
    page.go_back()
    expect(example).to_contain_text("W6")
    page.get_by_label("New sheet from a template").select_option("softmax")
    expect(page).to_have_url(re.compile(r"#/worked\?example=own$"))
    own = example.inner_text()
    page.get_by_role("button", name="W8").click()
    expect(example).to_contain_text("W8")
    page.go_back()
    expect(example).to_have_text(own)
    page.get_by_role("tab", name="Labs").click()
    expect(title).to_have_text(lab(NAMES[0]).title)
    page.goto(page.url.split("#")[0] + "#/worked?example=nothing")
    expect(page).to_have_url(re.compile(r"#/worked\?example=W6$"))
