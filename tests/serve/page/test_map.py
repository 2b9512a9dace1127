"""The first screen, with a sample sentence and a map whose every part opens its stage; and the state in the address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

Visit = Callable[..., Any]
TEXT = "one two three"
SAMPLE = "The old bridge was built before the war."
SHOWN = """() => {  // the stage of the address
  const stage = new URLSearchParams(location.hash.split("?")[1]).get("stage") ?? "map";
  return document.querySelector(".stages [aria-current=step]").dataset.stage === stage;
}"""


def test_nobody_meets_an_empty_page(visit: Visit, client: Any) -> None:
    best = client.post("/api/translate", {"text": SAMPLE, "beam": 5}).json
    visitor = visit()
    page = visitor.page
    expect(page.get_by_label("Text to translate")).to_have_value(SAMPLE)
    expect(visitor.translated()).to_have_text(best["text"])
    page.locator("#map .cells").first.wait_for()  # with the attention of this sentence
    expect(page.locator("#map")).to_contain_text("<2de> ▁")
    page.get_by_label("Text to translate").focus()
    page.keyboard.type(TEXT)  # over the sample
    expect(page.get_by_label("Text to translate")).to_have_value(TEXT)
    other = visit(tab="inside")
    other.explained(SAMPLE)
    expect(other.page.locator(".stage h2")).to_have_text("Map")


def test_every_part_of_the_map_opens_its_stage(visit: Visit) -> None:
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    parts = page.locator(".stage .map a")
    order = []
    for at in range(parts.count()):
        named = parts.nth(at).get_attribute("aria-label")
        parts.nth(at).focus()
        page.keyboard.press("Enter")
        expect(page.locator(".stages [aria-current=step]")).not_to_have_attribute("data-stage", "map")
        order.append((named, visitor.here()))
        page.go_back()
        expect(page.locator(".stage h2")).to_have_text("Map")
    stacks = dict(order)
    assert stacks["Encoder: Self-attention"] == "encoder.self_attention.projections"
    assert stacks["Decoder: Masked self-attention"] == "decoder.self_attention.projections"
    assert stacks["Decoder: Cross-attention"] == "decoder.cross_attention.projections"
    assert stacks["Decoder: Softmax"] == "output.probabilities"
    walk = list(visitor.stages())
    places = [walk.index(stage) for named, stage in order if named.startswith(("Encoder", "Decoder"))]
    assert places == sorted(places)  # drawn as it is computed


def test_the_map_of_the_first_screen_leads_inside(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.types(TEXT)
    visitor.translated()
    visitor.aligned()
    page.locator("#map").get_by_role("link", name="Decoder: Cross-attention").click()
    expect(page.get_by_role("tabpanel", name="Inside")).to_be_visible()
    visitor.explained(TEXT)
    assert visitor.here() == "decoder.cross_attention.projections"


def test_a_link_opens_the_same_again_and_back_goes_back(visit: Visit, client: Any) -> None:
    visitor = visit(tab="inside")
    page = visitor.page
    page.locator("#inside").get_by_label("From", exact=True).select_option("en")
    visitor.looks_inside(TEXT)
    visitor.walks_to("decoder.self_attention.softmax")
    visitor.chooses("head", 2)
    weights = visitor.figure("decoder.layers.0.self_attention.weights")
    visitor.reads(weights, "ArrowDown", "ArrowDown", "Enter")
    panel = page.locator(".cell")
    expect(panel.locator("h2")).to_contain_text("[2, 1, 0]")
    link = page.url
    for part in ("text=one+two+three", "source=en", "stage=decoder.self_attention.softmax", "head=2", "cell="):
        assert part in link
    other = visit(address=link.split("#", 1)[1])
    other.explained(TEXT)
    expect(other.page.locator(".cell h2")).to_contain_text("[2, 1, 0]")
    expect(other.page.locator("#inside").get_by_label("From", exact=True)).to_have_value("en")
    expect(other.page.get_by_role("group", name="head", exact=True).get_by_role("radio", name="2")).to_be_checked()
    assert other.here() == "decoder.self_attention.softmax"

    page.go_back()
    expect(panel).to_be_hidden()
    page.go_back()
    expect(page.get_by_role("group", name="head", exact=True).get_by_role("radio", name="0")).to_be_checked()
    while visitor.here() != "map":
        page.go_back()
        page.wait_for_function(SHOWN)
    page.go_back()  # before the text was typed
    visitor.explained(SAMPLE)
    expect(page.get_by_label("Sentence to look into")).to_have_value(SAMPLE)
    page.go_forward()
    visitor.explained(TEXT)


@pytest.mark.parametrize(
    "address",
    [
        "/inside?stage=nowhere&layer=-1&head=99&step=x&cell=nothing.0+4",
        "/nowhere?text=one",
        "/inside?layer=1000000&part=a.b",
    ],
)
def test_an_address_that_cannot_be_is_taken_as_far_as_it_can(visit: Visit, address: str) -> None:
    visitor = visit(address=address, complains=True)
    expect(visitor.page.get_by_role("tabpanel")).to_be_visible()
    if "inside" in address:
        visitor.page.locator(".stage h2").wait_for()
        assert visitor.here() == "map"
