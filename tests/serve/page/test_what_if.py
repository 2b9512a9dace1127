"""What if: a part is switched off, words change places, a word is forced; everything stands beside the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

Visit = Callable[..., Any]
TEXT = "one two three"


@pytest.fixture
def curious(visit: Visit) -> Any:
    visitor = visit(tab="inside")
    visitor.looks_inside(TEXT)
    visitor.page.locator("#what-if summary").click()
    return visitor


def test_a_head_is_switched_off_beside_the_original(curious: Any, client: Any) -> None:
    page = curious.page
    curious.walks_to("decoder.cross_attention.projections")
    page.get_by_label("Which").select_option("decoder.layers.0.cross_attention.head.1")
    page.get_by_role("button", name="Switch off").click()
    change = "decoder.layers.0.cross_attention.head.1=0"
    trace = client.post("/api/explain", {"text": TEXT, "intervene": [change]}).json
    changed = trace["changed"]
    expect(page.get_by_label("Changed", exact=True).locator(".output")).to_have_text(changed["translation"])
    expect(page.get_by_label("Original", exact=True).locator(".output")).to_have_text(trace["translation"])
    assert curious.here() == "decoder.cross_attention.projections"  # where the reader was
    rows = page.locator(".compared tbody tr")
    assert [row.locator("td").all_inner_texts()[2::2] for row in rows.all()] == [
        [_percent(step["chosen"]["probability"]), _percent(now)]
        for step, now in zip(trace["steps"], changed["original_probabilities"], strict=True)
    ]
    assert page.locator(".compared canvas").count() > 2
    curious.walks_to("decoder.cross_attention.weighted_sum")
    expect(page.locator(".stage .changed")).to_contain_text(change.removesuffix("=0"))
    curious.chooses("head", 1)
    heads = curious.figure("decoder.layers.0.cross_attention.heads")
    assert curious.reads(heads, "ArrowDown", "ArrowDown").endswith("0.000")
    page.get_by_role("radio", name="the original").check()
    expect(page.locator(".stage .changed")).to_have_count(0)
    page.get_by_role("button", name="Undo: without decoder, layer 0, cross-attention, head 1").click()
    expect(page.locator(".compared")).to_have_count(0)


def test_every_kind_of_part_can_be_switched_off(curious: Any, client: Any) -> None:
    kinds = curious.page.get_by_label("Switch off", exact=True).locator("option").all_inner_texts()
    assert {"a head", "the causal mask", "the division by √d", "the positions", "a residual connection", "a norm",
            "a feed-forward network", "a whole layer"} <= set(kinds)  # fmt: skip
    assert "another part" not in kinds
    offered = set()
    for kind in kinds:
        curious.page.get_by_label("Switch off", exact=True).select_option(kind)
        options = curious.page.get_by_label("Which").locator("option")
        offered |= {option.get_attribute("value") for option in options.all()}
    assert offered >= set(client.post("/api/explain", {"text": TEXT}).json["switches"])


def test_two_words_change_places(curious: Any, client: Any) -> None:
    page = curious.page
    page.get_by_label("Swap", exact=True).select_option("one")
    page.get_by_label("with", exact=True).select_option("three")
    page.get_by_role("button", name="Swap", exact=True).click()
    changed = client.post("/api/explain", {"text": TEXT, "intervene": ["swap=0,2"]}).json["changed"]
    expect(page.get_by_label("Changed", exact=True).locator(".output")).to_have_text(changed["translation"])
    expect(page.locator(".changes")).to_contain_text("“one” and “three” change places")
    curious.walks_to("tokens")
    first = page.locator(".stage .chips").first.locator("li").all_inner_texts()
    assert [text.split("\n")[0] for text in first] == [token["text"] for token in changed["source_tokens"]]


def test_a_word_of_the_translation_is_forced(curious: Any, client: Any) -> None:
    page = curious.page
    page.get_by_label("Instead of").select_option("0")
    page.get_by_label("Word to force").fill("neun")
    page.get_by_role("button", name="Force").click()
    output = page.get_by_label("Changed", exact=True).locator(".output")
    expect(output).to_contain_text("neun")
    link = page.url
    assert "intervene=target.0%3Dneun" in link
    page.get_by_label("Switch off", exact=True).select_option("the causal mask")
    page.get_by_role("button", name="Switch off").click()
    expect(page.locator(".changes li")).to_have_count(3)  # two changes, and to undo all
    page.go_back()
    expect(page.locator(".changes li")).to_have_count(1)
    expect(output).to_contain_text("neun")


def test_a_cell_under_a_change_is_that_of_the_changed_model(curious: Any, client: Any) -> None:
    page = curious.page
    page.get_by_label("Switch off", exact=True).select_option("the division by √d")
    page.get_by_label("Which").select_option("scale")
    page.get_by_role("button", name="Switch off").click()
    page.locator(".compared").wait_for()
    curious.walks_to("encoder.self_attention.scores")
    curious.reads(curious.figure("encoder.layers.0.self_attention.scores"), "ArrowDown", "Enter")
    panel = page.locator(".cell")
    panel.locator(".result").wait_for()
    body = {"text": TEXT, "intervene": ["scale=0"], "cell": "encoder.layers.0.self_attention.scores.0.0.0"}
    answer = client.post("/api/cell", body).json
    assert float(panel.locator(".result strong").inner_text().replace("−", "-")) == pytest.approx(
        answer["number"], rel=1e-6
    )


def _percent(share: float) -> str:
    return "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"
