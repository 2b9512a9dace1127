"""Inside: the walk through the model, and every number on the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from pellucid.decode.translator import load

Visit = Callable[..., Any]
TEXT = "one two three"
STAGES = ["Tokens", "Embedding + position", "Queries, keys, values", "Scores", "Mask", "Softmax", "Weighted sum",
          "Heads side by side", "Add & norm", "Feed-forward", "Cross-attention", "Alignment", "Logits", "Chosen token",
          "Beam search"]  # fmt: skip


def test_the_walk_goes_through_the_model_in_order(visit: Visit, client: Any) -> None:
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    trace = client.post("/api/explain", {"text": TEXT}).json
    expect(page.locator("#inside-status")).to_contain_text(trace["translation"].strip())
    for number, stage in enumerate(STAGES):
        expect(page.locator(".stage h2")).to_have_text(stage)
        expect(page.locator(".equation").first).to_be_visible()
        expect(page.locator(".stages [aria-current]")).to_have_text(stage)
        assert page.locator(".stage canvas").count() > 0 or stage in ("Tokens", "Chosen token", "Beam search")
        if number + 1 < len(STAGES):
            page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    visitor.walks_to("Chosen token")
    least_certain = max(trace["steps"], key=lambda step: step["entropy"])
    expect(page.locator("strong.chosen")).to_have_text(least_certain["chosen"]["text"])


def test_every_number_can_be_read_by_keyboard_and_by_pointer(visit: Visit, client: Any) -> None:
    trace = client.post("/api/explain", {"text": TEXT}).json
    weights = trace["values"]["encoder.layers.0.self_attention.weights"]["values"][2]
    rows = [token["text"] for token in trace["source_tokens"]]
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    visitor.walks_to("Softmax")
    page.get_by_role("group", name="head").get_by_role("radio", name="2").check()
    figure = page.locator("figure").nth(1)
    visitor.reads(figure, "ArrowDown", "ArrowDown", "ArrowRight")
    expect(figure.locator("output")).to_have_text(_readout(rows[1], rows[1], weights[1][1]))
    box = figure.locator(".scroll canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4)
    expect(figure.locator("output")).to_have_text(_readout(rows[-1], rows[-1], weights[-1][-1]))
    shapes = page.locator(".equation small").all_inner_texts()
    assert shapes == [f"{len(rows)} × {len(rows)}"] * 2


def test_the_mask_hides_later_tokens(visit: Visit, client: Any) -> None:
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    visitor.walks_to("Mask")
    page.get_by_role("radio", name="decoder").check()
    assert visitor.reads(page.locator("figure").nth(1), "ArrowDown", "ArrowRight").endswith("−∞")
    trace = client.post("/api/explain", {"text": TEXT}).json
    score = trace["values"]["decoder.layers.0.self_attention.scores"]["values"][0][1][0]
    visitor.walks_to("Scores")  # before the mask, recomputed from queries and keys
    shown = visitor.reads(page.locator("figure"), "ArrowDown", "ArrowDown")
    assert _number(shown) == pytest.approx(score, abs=1e-3)


@pytest.mark.parametrize(
    "parts",
    [
        {"positions": "rotary", "kv_heads": 2, "norm": "rms", "norm_place": "post", "activation": "swiglu"},
        {"positions": "learned", "norm_place": "pre", "activation": "gelu", "embedding_norm": True},
    ],
    ids=["rotary", "learned"],
)
def test_other_parts_are_walked_through_too(
    visit: Visit, serve: Callable[..., Any], make_model: Callable[..., Path], parts: dict[str, Any]
) -> None:
    client = serve(load(make_model(seed=1, **parts)))
    visitor = visit(client.url, tab="inside")
    page = visitor.page
    visitor.looks_inside("the cat")
    for stage in STAGES:
        visitor.walks_to(stage)
    visitor.walks_to("Scores")
    page.get_by_role("radio", name="encoder").check()
    page.get_by_role("group", name="head").get_by_role("radio", name="3").check()  # of four, over two pairs of keys
    page.get_by_role("group", name="layer").get_by_role("radio", name="1").check()
    trace = client.post("/api/explain", {"text": "the cat"}).json
    score = trace["values"]["encoder.layers.1.self_attention.scores"]["values"][3][0][0]
    assert _number(visitor.reads(page.locator("figure"), "ArrowDown")) == pytest.approx(score, abs=1e-3)


def test_heatmaps_of_sixty_tokens(visit: Visit) -> None:
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(" ".join(["one"] * 70))
    for stage in ("Embedding + position", "Heads side by side", "Cross-attention", "Scores"):
        visitor.walks_to(stage)
        assert visitor.overflow() == 0
    expect(page.locator("figure .scroll canvas")).to_have_attribute("aria-label", re.compile("64 by 64"))


def test_a_text_keeps_its_lines_on_the_way_inside_and_back(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.types("one\ntwo")
    visitor.translated()
    visitor.opens("Inside")
    expect(page.get_by_label("Sentence to look into")).to_have_value("one two")
    page.locator(".stage h2").wait_for()
    visitor.opens("Translate")
    expect(page.get_by_label("Text to translate")).to_have_value("one\ntwo")
    visitor.opens("Inside")
    visitor.looks_inside("three")
    visitor.opens("Translate")
    expect(page.get_by_label("Text to translate")).to_have_value("three")


def _number(readout: str) -> float:
    return float(readout.split(":")[-1].replace("−", "-"))


def _readout(query: str, key: str, weight: float) -> str:
    written = f"{weight:.3f}" if weight >= 0.001 else re.sub(r"e-0?(\d+)", r"e−\1", f"{weight:.1e}")
    return f"{query} → {key}: {written}"
