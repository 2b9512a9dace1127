"""The tab that watches a model learn: the slider, what stands in the address, the walk at one step, by everyone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

import pellucid
from pellucid.tracing.learning import Learning

Visit = Callable[..., Any]


@pytest.fixture(scope="module")
def learning() -> Learning:
    return pellucid.watch("dates")


def settings(page: Any) -> dict[str, str]:
    query = urlsplit(urlsplit(page.url).fragment).query
    return {name: values[0] for name, values in parse_qs(query).items()}


def whole(page: Any, learning: Learning) -> Any:
    """The slider, once every moment is there."""
    slider = page.get_by_role("slider", name="Step of the training")
    expect(slider).to_have_attribute("max", str(len(learning.moments) - 1))
    expect(page.locator("#learning-view")).to_have_attribute("aria-busy", "false")
    return slider


def test_the_slider_goes_through_the_snapshots_by_keyboard(visit: Visit, learning: Learning) -> None:
    page = visit(tab="translate").page
    page.get_by_role("tab", name="Learning").click()
    slider = whole(page, learning)
    assert settings(page) == {"run": "dates", "text": learning.watched.source.text, "target_text": "2083-06-29"}
    slider.focus()
    for moment in learning.moments[1:4]:
        page.keyboard.press("ArrowRight")
        expect(page.locator(".told .output")).to_have_text(moment.translation)
        expect(page.locator("#learning-view h2").first).to_contain_text(f"Step {moment.step:,} of 2,284")
        expect(slider).to_be_focused()
        expect(slider).to_have_attribute(
            "aria-valuetext", f"step {moment.step:,}: {moment.translation}, loss {moment.loss:.3f}"
        )
        assert settings(page)["at"] == str(moment.step)
        shares = page.locator(".learned table tbody tr td:nth-child(3)").all_inner_texts()
        assert shares == [f"{100 * each:.1f} %" for each in moment.probabilities]
    page.keyboard.press("End")
    expect(page.locator(".told .right")).to_have_text("2083-06-29")


def test_a_link_opens_the_same_moment_and_head(visit: Visit, learning: Learning) -> None:
    address = (
        "/learning?run=dates&text=3. Mai 2022&target_text=2022-05-03&at=520&part=decoder.self_attention&layer=1&head=2"
    )
    page = visit(address=address).page
    whole(page, learning)
    moment = pellucid.watch("dates", "3. Mai 2022", target_text="2022-05-03").moments[5]
    expect(page.locator("#learning-view h2").first).to_contain_text("Step 520")
    expect(page.locator(".told .output")).to_have_text(moment.translation)
    figure = page.locator('figure[data-value="decoder.layers.1.self_attention.weights"]')
    figure.locator(".cells canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    shown = figure.locator("output").inner_text().split(":")[-1].split("(")[0]
    assert float(shown) == pytest.approx(moment.weights["decoder.layers.1.self_attention.weights"][2, 1, 0], abs=1e-3)


def test_a_cell_of_the_matrix_of_all_steps_goes_to_its_step(visit: Visit, learning: Learning) -> None:
    page = visit(tab="learning").page
    whole(page, learning)
    figure = page.locator('figure[data-value="learned"]')
    figure.locator(".cells canvas").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    share = learning.moments[2].probabilities[0]
    expect(figure.locator("output")).to_contain_text(f"step {learning.moments[2].step}:  {share:.3f}")
    page.keyboard.press("Enter")
    expect(page.locator("#learning-view h2").first).to_contain_text(f"Step {learning.moments[2].step}")
    expect(figure.locator(".cells canvas")).to_be_focused()


def test_it_plays_to_the_end_and_stops_when_asked(visit: Visit, learning: Learning) -> None:
    page = visit(tab="learning").page
    whole(page, learning)
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#learning-view h2").first).to_contain_text(f"Step {learning.moments[2].step}")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_sentence_of_ones_own_without_what_it_should_become(visit: Visit, learning: Learning) -> None:
    page = visit(tab="learning").page
    whole(page, learning)
    page.get_by_label("Sentence", exact=True).fill("4 July 1976")
    page.get_by_label("should become").fill("")
    page.get_by_role("button", name="Watch").click()
    expect(page.locator("#learning-status")).to_contain_text("what the last snapshot says")
    own = pellucid.watch("dates", "4 July 1976")
    slider = whole(page, own)
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator(".told .output")).to_have_text(own.moments[-1].translation)
    assert settings(page)["text"] == "4 July 1976"
    assert "target_text" not in settings(page)
    page.go_back()
    expect(page.get_by_label("Sentence", exact=True)).to_have_value(learning.watched.source.text)


def test_the_walk_of_one_step_has_every_number_of_it(visit: Visit, learning: Learning) -> None:
    page = visit(tab="learning", address="/learning?at=403").page
    whole(page, learning)
    page.get_by_role("link", name="Open how they are computed").click()
    expect(page.locator("#learning-walk .stage h2")).to_have_text("Softmax")
    value = "decoder.layers.0.cross_attention.weights"
    page.locator(f'#learning-walk figure[data-value="{value}"] .cells canvas').focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    result = page.locator("#learning-walk .cell .result strong")
    expect(result).to_be_visible()
    shown = float(result.inner_text())
    assert shown == pytest.approx(float(learning.at(403).values[value][0, 0, 0]), rel=1e-6)
    slider = whole(page, learning)
    slider.focus()
    page.keyboard.press("End")
    page.locator("#learning-walk:not([aria-busy=true])").wait_for()
    expect(page.locator("#learning-walk .cell")).to_be_hidden()
    assert settings(page)["stage"] == "decoder.cross_attention.softmax"
    page.locator("#learning-inside").get_by_role("button", name="Close").click()
    expect(page.locator("#learning-inside")).to_be_hidden()


def test_what_is_wrong_is_said(visit: Visit) -> None:
    page = visit(address="/learning?run=dates&text=%20x&target_text=" + 300 * "1").page
    expect(page.get_by_role("alert")).to_contain_text("tokens are more than")


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        (1440, "light"),
        pytest.param(390, "light", marks=pytest.mark.proof),
        pytest.param(1440, "dark", marks=pytest.mark.proof),
    ],
)
def test_it_fits_and_can_be_used_by_everyone(visit: Visit, learning: Learning, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    visitor = visit(address="/learning?at=520", width=width, scheme=scheme)
    page = visitor.page
    whole(page, learning)
    for stage in ("", "decoder.cross_attention.softmax"):
        if stage:
            page.get_by_role("link", name="Open how they are computed").click()
            page.locator("#learning-walk .stage h2").wait_for()
        assert visitor.overflow() == 0
        found = Axe().run(page).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
