"""The report in a browser: the walk of the page in one file, with what can be opened without a server."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from pellucid.tracing import Trace, explain


@pytest.fixture(scope="module")
def trace(make_model: Callable[..., Path]) -> Trace:
    return explain(make_model(norm_place="post"), "the cat sat", "en", "de")


@pytest.fixture
def report(browser: Any, trace: Trace, tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "report.html").write_text(trace.to_html(), encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    complaints: list[str] = []
    tab.on("console", lambda line: complaints.append(line.text))
    tab.on("pageerror", lambda fault: complaints.append(str(fault)))
    tab.goto((tmp_path / "report.html").as_uri())
    tab.locator("footer").wait_for()
    yield tab
    tab.close()
    assert complaints == []


def walks_to(report: Any, stage: str) -> None:
    report.evaluate("(stage) => { location.hash = `#/report?stage=${stage}`; }", stage)
    expect(report.locator(f'.stages [data-stage="{stage}"]')).to_have_attribute("aria-current", "step")


def figure(report: Any, value: str) -> Any:
    return report.locator(f'.stage figure[data-value="{value}"]')


def opens(report: Any, value: str, *keys: str) -> Any:
    """The panel of the cell that these keys lead to."""
    figure(report, value).locator(".cells canvas").focus()
    for key in (*keys, "Enter"):
        report.keyboard.press(key)
    expect(report.locator(".cell h2")).to_be_focused()
    return report.locator(".cell")


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_the_report_says_what_it_is_of_and_begins_with_the_map(report: Any, trace: Trace) -> None:
    assert report.locator("h1").inner_text() == f"{trace.text} → {trace.translation}"
    about = report.locator("header p").first.inner_text()
    assert f"{trace.source} → {trace.target}" in about
    assert trace.engine in about
    expect(report.locator(".stage h2")).to_have_text("Map")
    report.locator(".stage .map").get_by_role("link", name="Decoder: Cross-attention").click()
    expect(report.locator(".stages [aria-current=step]")).to_have_attribute(
        "data-stage", "decoder.cross_attention.projections"
    )
    report.go_back()
    expect(report.locator(".stage h2")).to_have_text("Map")


def test_every_stage_is_drawn(report: Any, trace: Trace) -> None:
    following = report.get_by_role("link", name="Next →", exact=True)
    seen = [report.locator(".stage h2").inner_text()]
    while following.count():
        following.click()
        expect(report.locator(".steps")).to_contain_text(f"{len(seen) + 1} of ")
        seen.append(report.locator(".stage h2").inner_text())
        assert report.locator(".stage").locator("canvas, .chips, svg").count() > 0, seen[-1]
    expect(report.locator(".steps")).to_contain_text(f"{len(seen)} of {len(seen)}")
    walks_to(report, "tokens")
    assert report.locator(".chips").first.locator("li").all_inner_texts() == [
        f"{token.text}\n{token.id}" for token in trace.source_tokens
    ]


def test_a_head_chosen_in_the_overview_is_shown_in_all_stages(report: Any, trace: Trace) -> None:
    walks_to(report, "heads")
    layers = 2 * trace.config.decoder_layers + trace.config.encoder_layers
    expect(report.locator(".thumbnail")).to_have_count(layers * trace.config.heads)
    button = report.get_by_role("button", name="Decoder, cross-attention, layer 1, head 3")
    button.click()
    expect(button).to_be_focused()
    expect(report.locator(".thumbnail[aria-pressed=true]")).to_have_count(1)
    report.get_by_role("link", name="Open how they are computed").click()
    weights = figure(report, "decoder.layers.1.cross_attention.weights")
    weights.locator(".cells canvas").focus()
    report.keyboard.press("ArrowDown")
    value = float(trace.weights("decoder.cross_attention", 1)[3, 0, 0])
    assert float(weights.locator("output").inner_text().split(":")[-1].split("(")[0]) == pytest.approx(value, abs=1e-3)
    walks_to(report, "heads")
    report.get_by_role("radio", name="scores").check()
    expect(figure(report, "decoder.layers.0.cross_attention.scores")).to_be_visible()


def test_a_step_has_its_candidates_rules_and_layers(report: Any, trace: Trace) -> None:
    walks_to(report, "output.probabilities")
    report.locator(".so-far button").first.click()
    first = trace.steps[0]
    tables = report.locator(".stage table")
    expect(report.locator(".stage strong.chosen")).to_have_text(first.chosen.text)
    rows = tables.first.locator("tbody tr")
    expect(rows).to_have_count(len(first.candidates))
    shares = rows.first.locator("td").all_inner_texts()[4:]  # greedy, top-k, top-p: of the first candidate
    assert shares == [f"{100 * first.candidates[0].probability / pool.probability:.1f} %" for pool in first.pools]
    assert f"Entropy: {first.entropy:.2f} bits" in report.locator(".stage").inner_text()
    expect(tables.nth(2).locator("tbody tr")).to_have_count(trace.config.decoder_layers)


def test_the_tree_of_the_beam_is_read_by_keyboard_and_pruned(report: Any, trace: Trace) -> None:
    walks_to(report, "output.beam")
    beam = report.locator(".stage")
    nodes = beam.locator(".tree g")
    expect(nodes).to_have_count(len(trace.beam.nodes))
    beam.locator(".tree").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        report.keyboard.press(key)
    expect(beam.locator("output")).to_contain_text(f"{trace.beam.nodes[0].text}   ·  log-probability")
    beam.get_by_label("pruned candidates").uncheck()
    expect(nodes).to_have_count(sum(node.fate != "died" for node in trace.beam.nodes))
    expect(beam.locator("table").first.locator("tbody tr")).to_have_count(len(trace.beam.finished))


def test_cells_open_from_the_numbers_of_the_file(report: Any, trace: Trace) -> None:
    """Each result as the trace has it, and as it follows from the operands that are shown."""
    walks_to(report, "decoder.cross_attention.softmax")
    panel = opens(report, "decoder.layers.0.cross_attention.weights", "ArrowDown", "ArrowDown", "ArrowRight")
    weight = float(trace.weights("decoder.cross_attention", 0)[0, 1, 1])
    assert number(panel.locator(".result strong").inner_text()) == pytest.approx(weight, abs=1e-5)
    scores = [number(row.locator("td").nth(1).inner_text()) for row in panel.locator(".operands tbody tr").all()]
    assert math.exp(scores[1]) / sum(map(math.exp, scores)) == pytest.approx(weight, abs=1e-4)
    panel.locator("a.operand").nth(1).click()  # the score
    expect(panel.locator("h2")).to_contain_text("S_i".replace("_i", "i"))
    products = [number(row.locator("td").nth(3).inner_text()) for row in panel.locator(".operands tbody tr").all()]
    size = trace.config.d_model // trace.config.heads
    assert sum(products) / math.sqrt(size) == pytest.approx(scores[1], abs=1e-4)
    panel.locator("a.operand").first.click()  # a query: its matrix of weights is not in the file
    expect(panel).to_contain_text("--cell decoder.layers.0.cross_attention.query.0.1.")


@pytest.mark.parametrize(
    ("stage", "value", "place"),
    [
        ("encoder.self_attention.weighted_sum", "encoder.layers.0.self_attention.heads", (0, 0, 0)),
        ("encoder.feed_forward.residual", "encoder.layers.0.feed_forward_residual.sum", (0, 0)),
        ("encoder.feed_forward.residual", "encoder.layers.0.feed_forward_residual.norm", (0, 0)),
    ],
)
def test_other_cells_open_too(report: Any, trace: Trace, stage: str, value: str, place: tuple[int, ...]) -> None:
    walks_to(report, stage)
    panel = opens(report, value, "ArrowDown")
    shown = number(panel.locator(".sum").last.inner_text().split("=")[-1])
    assert shown == pytest.approx(float(trace.values[value][place]), abs=1e-4)


def test_a_change_is_shown_beside_the_original(browser: Any, make_model: Callable[..., Path], tmp_path: Path) -> None:
    trace = explain(make_model(), "the cat sat", "en", "de", intervene=["encoder.layers.1=0"])
    assert trace.changed is not None
    (tmp_path / "report.html").write_text(trace.to_html(), encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.goto((tmp_path / "report.html").as_uri())
    expect(tab.get_by_label("Changed", exact=True).locator(".output")).to_have_text(trace.changed.translation)
    expect(tab.locator(".compared").locator("xpath=..").locator("h2")).to_contain_text("without encoder, layer 1")
    walks_to(tab, "output.probabilities")
    changed = tab.locator(".so-far button").all_inner_texts()
    tab.get_by_role("radio", name="the original").check()
    expect(tab.locator(".so-far button")).to_have_count(len(trace.steps))
    assert tab.locator(".so-far button").all_inner_texts() != changed
    tab.close()


def test_a_change_of_the_colour_scheme_paints_again(report: Any) -> None:
    walks_to(report, "alignment")
    first = "document.querySelector('.stage .cells canvas').toDataURL()"
    light = report.evaluate(first)
    report.emulate_media(color_scheme="dark")
    report.wait_for_function(f"(light) => {first} !== light", arg=light)


@pytest.mark.parametrize("changes", [[], ["encoder.positions=0"], ["swap=0,3"]])
def test_a_report_of_thirty_tokens_is_not_large(changes: list[str]) -> None:
    text = (
        "Where is the old station in the middle of the city, and how long does it take to walk there from the small "
        "hotel near the river?"
    )
    trace = explain("en-de", text, intervene=changes)
    assert len(trace.source_tokens) >= 30
    assert len(trace.to_html().encode()) <= 3_000_000
