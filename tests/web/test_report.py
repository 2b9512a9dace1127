"""The report in a browser: every section is drawn, and what is chosen in one is shown in all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from pellucid.tracing import Trace, explain

SECTIONS = ["Tokens", "Alignment", "Input", "Heads", "One layer", "Steps", "Beam"]


@pytest.fixture(scope="module")
def trace(make_model: Callable[..., Path]) -> Trace:
    return explain(make_model(), "the cat sat", "en", "de")


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


def test_the_report_says_what_it_is_of(report: Any, trace: Trace) -> None:
    assert report.locator("h1").inner_text() == f"{trace.text} → {trace.translation}"
    about = report.locator("header p").first.inner_text()
    assert f"{trace.source} → {trace.target}" in about
    assert trace.engine in about
    assert report.locator("main h2").all_inner_texts() == SECTIONS == report.locator("nav a").all_inner_texts()
    assert report.locator("#tokens .chips").first.locator("li").all_inner_texts() == [
        f"{token.text}\n{token.id}" for token in trace.source_tokens
    ]
    for section in report.locator("main section").all():
        assert section.locator("canvas, .chips, svg").count() > 0


def test_a_head_chosen_in_the_overview_is_shown_in_the_layer_below(report: Any, trace: Trace) -> None:
    thumbnails = report.locator("#heads .thumbnail")
    assert thumbnails.count() == trace.config.decoder_layers * trace.config.heads
    report.get_by_role("button", name="layer 0, head 3").click()
    expect(report.get_by_role("button", name="layer 0, head 3")).to_be_focused()
    expect(report.locator("#heads .thumbnail[aria-pressed=true]")).to_have_attribute("aria-label", "layer 0, head 3")
    weights = report.locator("#one-layer figure", has_text="every row sums to 1")
    weights.locator(".cells canvas").focus()
    report.keyboard.press("ArrowDown")
    value = float(trace.weights("decoder.cross_attention", 0)[3, 0, 0])
    assert float(weights.locator("output").inner_text().split(":")[-1]) == pytest.approx(value, abs=1e-3)
    report.locator("#heads").get_by_role("radio", name="encoder").check()
    expect(report.locator("#one-layer").get_by_role("radio", name="encoder")).to_be_checked()
    assert thumbnails.count() == trace.config.encoder_layers * trace.config.heads
    report.locator("#heads").get_by_role("radio", name="scores").check()
    expect(report.locator("#heads .equation")).to_contain_text("S")


def test_a_step_has_its_candidates_rules_and_layers(report: Any, trace: Trace) -> None:
    steps = report.locator("#steps")
    steps.get_by_role("radio").first.check()
    first = trace.steps[0]
    rows = steps.locator("table").first.locator("tbody tr")
    assert rows.count() == len(first.candidates)
    shares = rows.first.locator("td").all_inner_texts()[4:]  # greedy, top-k, top-p: of the first candidate
    assert shares == [f"{100 * first.candidates[0].probability / pool.probability:.1f} %" for pool in first.pools]
    assert f"Entropy: {first.entropy:.2f} bits" in steps.inner_text()
    assert steps.locator("table").nth(2).locator("tbody tr").count() == trace.config.decoder_layers


def test_the_tree_of_the_beam_is_read_by_keyboard_and_pruned(report: Any, trace: Trace) -> None:
    beam = report.locator("#beam")
    nodes = beam.locator(".tree g")
    assert nodes.count() == len(trace.beam.nodes)
    beam.locator(".tree").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        report.keyboard.press(key)
    expect(beam.locator("output")).to_contain_text(f"{trace.beam.nodes[0].text}   ·  log-probability")
    beam.get_by_label("pruned candidates").uncheck()
    assert nodes.count() == sum(node.fate != "died" for node in trace.beam.nodes)
    assert beam.locator("tbody tr").count() == len(trace.beam.finished)


def test_a_change_of_the_colour_scheme_paints_again(report: Any) -> None:
    first = "document.querySelector('#alignment .cells canvas').toDataURL()"
    light = report.evaluate(first)
    report.emulate_media(color_scheme="dark")
    report.wait_for_function(f"(light) => {first} !== light", arg=light)
