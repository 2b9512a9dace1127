"""Inside: the walk through the model, and every number on the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from pellucid.decode.translator import load
from pellucid.reference import Transformer

Visit = Callable[..., Any]
TEXT = "one two three"


def test_the_walk_shows_every_value_in_the_order_in_which_the_reference_computes_it(
    visit: Visit, client: Any, number_model: Path
) -> None:
    trace = client.post("/api/explain", {"text": TEXT}).json
    recorded: list[str] = []

    def tap(name: str, value: Any) -> Any:
        recorded.append(name)
        return value

    source, target = ([[token["id"] for token in trace[side]]] for side in ("source_tokens", "target_in"))
    model = Transformer.load(number_model)
    model.forward(np.array(source), np.ones((1, len(source[0])), bool), np.array(target), tap)
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    expect(page.locator("#inside-status")).to_contain_text(trace["translation"].strip())
    shown, formulas = [], []
    for _ in visitor.stages():
        shown += page.locator(".stage figure").evaluate_all("all => all.map((each) => each.dataset.value)")
        formulas += page.locator(".stage .equation").evaluate_all("all => all.map((each) => each.dataset.formula)")
    first = [name for name in dict.fromkeys(shown) if name and name != "alignment"]
    assert first == [name for name in recorded if name in trace["values"]]
    assert set(first) == set(trace["values"])
    overviews = {"alignment", "score"}  # what follows from the whole, at the end of the walk
    assert [name for name in formulas if name not in overviews] == [
        formula["value"] for formula in trace["formulas"] if formula["value"] not in overviews
    ]
    assert {formula["value"] for formula in trace["formulas"]} == set(formulas)


def test_every_stage_says_where_it_is(visit: Visit) -> None:
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    for stage in visitor.stages():
        if stage == "map":
            continue
        name = page.locator(".stage h2").inner_text()
        expect(page.locator(".here-map")).to_have_attribute(
            "aria-label", re.compile(f"You are here: .*{re.escape(name)}$")
        )
        marked = page.locator(".here-map .part.here").count()
        assert marked == {"tokens": 0, "heads": 0, "alignment": 0}.get(stage, 2 if stage.endswith("input") else 1), (
            stage
        )


def test_the_step_that_is_shown_first_is_the_least_certain(visit: Visit, client: Any) -> None:
    trace = client.post("/api/explain", {"text": TEXT}).json
    visitor = visit(tab="inside")
    visitor.looks_inside(TEXT)
    visitor.walks_to("output.probabilities")
    least_certain = max(trace["steps"], key=lambda step: step["entropy"])
    expect(visitor.page.locator("strong.chosen")).to_have_text(least_certain["chosen"]["text"])
    shares = visitor.page.locator(".so-far button small").all_inner_texts()
    assert shares == [f"{100 * step['chosen']['probability']:.1f} %" for step in trace["steps"]]
    visitor.page.locator(".so-far button").first.click()
    expect(visitor.page.locator("strong.chosen")).to_have_text(trace["steps"][0]["chosen"]["text"])
    expect(visitor.page.locator(".so-far button").first).to_be_focused()


def test_every_number_can_be_read_by_keyboard_and_by_pointer(visit: Visit, client: Any) -> None:
    trace = client.post("/api/explain", {"text": TEXT}).json
    weights = trace["values"]["encoder.layers.0.self_attention.weights"]["values"][2]
    rows = [token["text"] for token in trace["source_tokens"]]
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    visitor.walks_to("encoder.self_attention.softmax")
    visitor.chooses("head", 2)
    figure = visitor.figure("encoder.layers.0.self_attention.weights")
    visitor.reads(figure, "ArrowDown", "ArrowDown", "ArrowRight")
    expect(figure.locator("output")).to_have_text(_readout(rows[1], rows[1], weights[1][1]))
    canvas = figure.locator(".scroll canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 4, "y": box["height"] - 4})
    expect(figure.locator("output")).to_have_text(_readout(rows[-1], rows[-1], weights[-1][-1]))
    assert figure.locator(".legend").inner_text().split() == ["0", "%", "100", "%"]
    written = [text for text in figure.locator(".numbers span").all_inner_texts() if text]
    assert written
    assert all(re.fullmatch(r"\d+%", text) for text in written)
    shapes = page.locator(".equation small").all_inner_texts()
    assert shapes == [f"{len(rows)} × {len(rows)}"] * 2


def test_rows_of_the_decoder_say_what_it_reads_and_what_it_predicts(visit: Visit, client: Any) -> None:
    trace = client.post("/api/explain", {"text": TEXT}).json
    read, predicted = ([token["text"] for token in trace[side]] for side in ("target_in", "target_out"))
    visitor = visit(tab="inside")
    visitor.looks_inside(TEXT)
    visitor.walks_to("decoder.cross_attention.softmax")
    figure = visitor.figure("decoder.layers.0.cross_attention.weights")
    assert figure.locator(".beside span").all_inner_texts() == [
        f"{one} → {other}" for one, other in zip(read, predicted, strict=True)
    ]
    assert figure.locator(".above span").all_inner_texts() == [token["text"] for token in trace["source_tokens"]]


def test_nothing_is_minus_zero(visit: Visit) -> None:
    page = visit().page
    written = page.evaluate(
        """async () => {
          const { number, rounded } = await import("/static/dom.js");
          return [rounded(-0.04, 1), rounded(-0.06, 1), number(-0), number(-0.5), number(null), number(-123.4)];
        }"""
    )
    assert written == ["0.0", "−0.1", "0.000", "−0.500", "−∞", "−123.4"]


def test_the_mask_hides_later_tokens(visit: Visit, client: Any) -> None:
    visitor = visit(tab="inside")
    visitor.looks_inside(TEXT)
    visitor.walks_to("decoder.self_attention.mask")
    scores = visitor.figure("decoder.layers.0.self_attention.scores")
    assert visitor.reads(scores, "ArrowDown", "ArrowRight").endswith("−∞")
    trace = client.post("/api/explain", {"text": TEXT}).json
    score = trace["values"]["decoder.layers.0.self_attention.scores"]["values"][0][1][0]
    assert _number(visitor.reads(scores, "ArrowLeft", "ArrowDown")) == pytest.approx(score, abs=1e-3)
    visitor.walks_to("encoder.feed_forward.network")
    expect(visitor.page.locator('[data-stage="encoder.self_attention.mask"]')).to_have_count(0)


def test_attention_is_drawn_as_lines_between_words(visit: Visit, client: Any) -> None:
    trace = client.post("/api/explain", {"text": TEXT}).json
    weights = trace["values"]["decoder.layers.0.cross_attention.weights"]["values"][1]
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    visitor.walks_to("decoder.cross_attention.softmax")
    visitor.chooses("head", 1)
    figure = page.locator(".as-lines")
    strong = sum(weight >= 0.01 for row in weights for weight in row)
    expect(figure.locator("path")).to_have_count(strong)
    figure.locator("svg").focus()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    best = max(weights[1])
    key = trace["source_tokens"][weights[1].index(best)]["text"]
    expect(figure.locator("output")).to_contain_text(f"attends to {key} {100 * best:.1f} %")
    expect(figure.locator("path:not(.off)")).to_have_count(sum(weight >= 0.01 for weight in weights[1]))
    page.keyboard.press("ArrowRight")
    expect(figure.locator("output")).to_contain_text("is attended to by")
    page.keyboard.press("Escape")
    expect(figure.locator("path.off")).to_have_count(0)


def test_all_heads_at_a_glance_and_one_of_them_large(visit: Visit) -> None:
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    visitor.walks_to("heads")
    expect(page.locator(".thumbnail")).to_have_count(3 * 4)  # three attentions of one layer with four heads
    page.get_by_role("button", name="Encoder, self-attention, layer 0, head 3").click()
    expect(visitor.figure("encoder.layers.0.self_attention.weights").locator("figcaption")).to_contain_text("head 3")
    expect(page.get_by_role("button", name="Encoder, self-attention, layer 0, head 3")).to_be_focused()
    page.get_by_role("link", name="Open how they are computed").click()
    expect(page.locator(".stage h2")).to_have_text("Softmax")
    expect(page.get_by_role("group", name="head", exact=True).get_by_role("radio", name="3")).to_be_checked()


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
    trace = client.post("/api/explain", {"text": "the cat"}).json
    seen = set(visitor.stages())
    pre = parts["norm_place"] == "pre"
    assert ("encoder.self_attention.norm" in seen) == pre
    visitor.walks_to("encoder.self_attention.scores")
    visitor.chooses("head", 3)  # of four, over two pairs of keys
    visitor.chooses("layer", 1)
    score = trace["values"]["encoder.layers.1.self_attention.scores"]["values"][3][0][0]
    figure = visitor.figure("encoder.layers.1.self_attention.scores")
    assert _number(visitor.reads(figure, "ArrowDown")) == pytest.approx(score, abs=1e-3)
    visitor.walks_to("map")
    parts_of_map = page.locator(".stage .map text").all_text_contents()
    assert ("Add" in parts_of_map) == pre
    assert ("rotary positions" in parts_of_map) == (parts["positions"] == "rotary")


def test_heatmaps_of_sixty_tokens(visit: Visit) -> None:
    visitor = visit(tab="inside")
    visitor.looks_inside(" ".join(["one"] * 70))
    for stage in (
        "encoder.input",
        "heads",
        "alignment",
        "decoder.cross_attention.softmax",
        "encoder.self_attention.scores",
    ):
        visitor.walks_to(stage)
        assert visitor.overflow() == 0
    scores = visitor.figure("encoder.layers.0.self_attention.scores").locator(".scroll canvas")
    expect(scores).to_have_attribute("aria-label", re.compile("64 by 64"))


def test_a_text_keeps_its_lines_on_the_way_inside_and_back(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.types("one\ntwo")
    visitor.translated()
    visitor.opens("Inside")
    expect(page.get_by_label("Sentence to look into")).to_have_value("one two")
    visitor.explained("one two")
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
    share = f"{100 * weight:.1f} %" if weight >= 0.001 else "< 0.1 %"
    return f"{query} · {key}: {written} ({share})"
