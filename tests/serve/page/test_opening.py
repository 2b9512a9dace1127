"""Any number opens: its computation, whose operands open in turn, back to embeddings and weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

Visit = Callable[..., Any]
TEXT = "one two three"


def opened(visit: Visit, cell: str) -> Any:
    visitor = visit(address=f"/inside?text=one+two+three&cell={cell}")
    visitor.page.locator(".cell[aria-busy=false] .result").wait_for()
    return visitor


def value(text: str) -> float:
    """A number as the panel writes it."""
    return float(text.strip().replace("−∞", "-inf").replace("−", "-"))


def columns(panel: Any) -> list[list[float]]:
    """The columns of numbers of the operands."""
    rows = [row.locator("td").all_inner_texts()[1:] for row in panel.locator(".operands tbody tr").all()]
    return [[value(text) for text in column] for column in zip(*rows, strict=True)]


def result(panel: Any) -> float:
    return value(panel.locator(".result strong").inner_text())


def test_a_score_is_the_sum_of_its_products(visit: Visit) -> None:
    panel = opened(visit, "encoder.layers.0.self_attention.scores.2.1.3").page.locator(".cell")
    queries, keys, products = columns(panel)
    assert len(queries) == 8  # features of a head
    assert products == pytest.approx([q * k for q, k in zip(queries, keys, strict=True)], abs=1e-5)
    assert result(panel) == pytest.approx(sum(products) / math.sqrt(8), abs=1e-5)


def test_a_weight_is_the_share_of_its_exponential(visit: Visit, client: Any) -> None:
    panel = opened(visit, "decoder.layers.0.self_attention.weights.0.2.1").page.locator(".cell")
    scores, exponentials, shares = columns(panel)
    assert exponentials == pytest.approx([math.exp(score - max(scores)) for score in scores], abs=1e-5)
    assert shares == pytest.approx([each / sum(exponentials) for each in exponentials], abs=1e-5)
    assert result(panel) == pytest.approx(shares[1], abs=1e-6)
    expect(panel.locator(".operands tr.chosen")).to_have_count(1)


def test_an_output_of_a_head_is_weights_times_values(visit: Visit) -> None:
    panel = opened(visit, "decoder.layers.0.cross_attention.heads.1.0.5").page.locator(".cell")
    weights, values, _ = columns(panel)
    assert sum(weights) == pytest.approx(1, abs=1e-5)
    assert result(panel) == pytest.approx(sum(w * v for w, v in zip(weights, values, strict=True)), abs=1e-5)


def test_a_norm_shows_mean_and_variance(visit: Visit) -> None:
    panel = opened(visit, "encoder.layers.0.feed_forward_residual.norm.1.7").page.locator(".cell")
    panel.locator("summary").click()
    [row] = columns(panel)
    mean = sum(row) / len(row)
    variance = sum((each - mean) ** 2 for each in row) / len(row)
    text = panel.inner_text().replace("−", "-")
    assert f"mean = {mean:.4g}"[:11] in text
    gamma, beta = (value(each) for each in panel.locator(".sum").last.locator(".leaf").all_inner_texts())
    assert result(panel) == pytest.approx((row[7] - mean) / math.sqrt(variance + 1e-5) * gamma + beta, abs=1e-4)


@pytest.mark.parametrize(
    "cell",
    ["encoder.layers.0.self_attention.query.1.2.3", "decoder.layers.0.feed_forward.hidden.1.4", "output.logits.1.20",
     "output.probabilities.0.30", "encoder.input.output.1.2", "encoder.input.position.2.3", "alignment.1.2",
     "decoder.layers.0.cross_attention_residual.sum.0.0", "encoder.output.0.1",
     "decoder.layers.0.self_attention.output.1.1"],
)  # fmt: skip
def test_every_kind_of_number_opens_to_what_the_server_computes(visit: Visit, client: Any, cell: str) -> None:
    answer = client.post("/api/cell", {"text": TEXT, "cell": cell}).json
    panel = opened(visit, cell).page.locator(".cell")
    assert result(panel) == pytest.approx(answer["number"], rel=1e-6, abs=1e-6)
    assert panel.locator(".operand, .leaf, .sum").count() > 0


def test_operands_open_in_turn_down_to_what_was_learned(visit: Visit) -> None:
    visitor = opened(visit, "decoder.layers.0.cross_attention.weights.0.1.1")
    page = visitor.page
    panel = page.locator(".cell")
    seen = [panel.locator("h2").inner_text()]
    while panel.locator("a.operand:visible").count() and len(seen) < 40:
        panel.locator("a.operand:visible").last.click()
        expect(panel.locator("h2")).not_to_have_text(seen[-1])
        panel.locator(".result").wait_for()
        seen.append(panel.locator("h2").inner_text())
    # The end: a row of the embedding, or the sine or cosine of a position.
    assert panel.locator(".leaf").count() > 0 or "angle" in panel.inner_text()
    assert 8 < len(seen) < 40
    expect(panel.locator(".trail a")).to_have_count(len(seen) - 1)
    panel.locator(".trail a").first.click()
    expect(panel.locator("h2")).to_have_text(seen[0])


def test_a_cell_is_opened_and_closed_by_keyboard(visit: Visit) -> None:
    visitor = visit(tab="inside")
    page = visitor.page
    visitor.looks_inside(TEXT)
    visitor.walks_to("encoder.self_attention.scores")
    figure = visitor.figure("encoder.layers.0.self_attention.scores")
    visitor.reads(figure, "ArrowDown", "ArrowDown", "ArrowRight", "Enter")
    panel = page.locator(".cell")
    expect(panel.locator("h2")).to_be_focused()
    expect(panel.locator("h2")).to_contain_text("[0, 1, 1]")
    expect(figure.locator(".opened")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the first operand
    expect(panel.locator(".trail a")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(figure.locator("canvas").first).to_be_focused()


def test_a_probability_opens_to_its_logits(visit: Visit) -> None:
    visitor = visit(tab="inside")
    visitor.looks_inside(TEXT)
    visitor.walks_to("output.probabilities")
    button = visitor.page.get_by_role("button", name="Open the probability of").first
    shown = button.inner_text()
    button.click()
    panel = visitor.page.locator(".cell")
    panel.locator(".result").wait_for()
    assert f"{100 * result(panel):.1f} %" == shown
