"""Translate: what a person types, sees come, points at and compares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from pellucid.decode.translator import load

Visit = Callable[..., Any]
TEXT = "one two three"


def test_a_text_is_translated_as_it_is_typed_first_as_it_comes_and_then_by_search(visit: Visit, client: Any) -> None:
    greedy = client.post("/api/translate", {"text": TEXT, "strategy": "greedy"}).json
    best = client.post("/api/translate", {"text": TEXT, "beam": 5, "n_best": 4}).json
    visitor = visit()
    page = visitor.page
    held: list[Any] = []
    released: list[bool] = []
    page.route("**/api/translate", lambda route: route.continue_() if released else held.append(route))
    page.get_by_label("Text to translate").press_sequentially(TEXT)
    expect(page.locator("#output.draft")).to_have_text(greedy["text"])
    page.wait_for_function("() => document.getElementById('output').getAttribute('aria-busy') === 'true'")
    while not (held and held[-1].request.post_data_json["text"] == TEXT):  # a slow typist asks for less before it
        page.wait_for_timeout(20)
    released.append(True)
    held[-1].continue_()
    expect(visitor.translated()).to_have_text(best["text"])
    shown = page.locator("#alternatives button span").all_inner_texts()
    assert shown == [best["text"], *(each["text"] for each in best["alternatives"])]


def test_an_alternative_can_be_chosen(visit: Visit, client: Any) -> None:
    best = client.post("/api/translate", {"text": TEXT, "beam": 5, "n_best": 4}).json
    visitor = visit()
    page = visitor.page
    visitor.types(TEXT)
    visitor.translated()
    second = page.locator("#alternatives button").nth(1)
    second.click()
    expect(page.locator("#output")).to_have_text(best["alternatives"][0]["text"])
    expect(second).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#alternatives button").first).to_have_attribute("aria-pressed", "false")


def test_both_directions(visit: Visit, client: Any) -> None:
    german = client.post("/api/translate", {"text": TEXT, "source": "en", "target": "de"}).json["text"]
    back = client.post("/api/translate", {"text": german, "source": "de", "target": "en"}).json["text"]
    visitor = visit()
    page = visitor.page
    page.locator("#translate").get_by_label("From", exact=True).select_option("en")
    expect(page.locator("#translate").get_by_label("Into")).to_have_value("de")
    visitor.types(TEXT)
    expect(visitor.translated()).to_have_text(german)
    page.get_by_role("button", name="Swap languages").first.click()
    expect(page.get_by_label("Text to translate")).to_have_value(german)
    expect(page.locator("#translate").get_by_label("From", exact=True)).to_have_value("de")
    expect(page.locator("#output:not(.draft)")).to_have_text(back)


def test_pointing_at_a_word_shows_its_alignment(visit: Visit, client: Any) -> None:
    """Three target words over three source words, with weights small enough to add up by hand."""
    trace = client.post("/api/explain", {"text": TEXT}).json
    trace["source_tokens"] = [{"id": 9, "text": text} for text in ("<2de>", "▁the", "▁c", "at", "</s>")]
    trace["target_out"] = [{"id": 9, "text": text} for text in ("▁die", "▁K⟨C3⟩", "⟨A4⟩tze", "!", "</s>")]
    trace["alignment"] = [
        [0.0, 0.9, 0.1, 0.0, 0.0],
        [0.0, 0.1, 0.5, 0.3, 0.1],
        [0.0, 0.3, 0.1, 0.5, 0.1],
        [0.0, 0.0, 0.0, 0.2, 0.8],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
    visitor = visit()
    page = visitor.page
    page.route("**/api/explain", lambda route: route.fulfill(json=trace))
    visitor.types(TEXT)
    source, target = (
        page.get_by_role("group", name="Words of the source"),
        page.get_by_role("group", name="Words of the target"),
    )
    expect(target.get_by_role("button")).to_have_text(["die", "Kätze", "!", "</s>"])
    expect(source.get_by_role("button")).to_have_text(["<2de>", "the", "cat", "</s>"])
    readout = page.locator("#alignment output")
    target.get_by_role("button", name="Kätze").hover()
    expect(readout).to_have_text("Kätze ← cat (70.0 %), the (20.0 %), </s> (10.0 %)")
    assert page.evaluate("document.querySelectorAll('#alignment .words')[0].children[2].style.backgroundColor") != ""
    source.get_by_role("button", name="the").hover()
    expect(readout).to_have_text("the → die (90.0 %), Kätze (20.0 %)")
    target.get_by_role("button", name="die").focus()
    page.keyboard.press("ArrowRight")
    expect(readout).to_have_text("Kätze ← cat (70.0 %), the (20.0 %), </s> (10.0 %)")


def test_four_decoding_strategies_side_by_side(visit: Visit, client: Any) -> None:
    strategies: list[dict[str, Any]] = [
        {"strategy": "greedy"}, {"strategy": "beam", "beam": 5},
        {"strategy": "sample", "temperature": 1, "seed": 1, "top_k": 10},
        {"strategy": "sample", "temperature": 1, "seed": 1, "top_p": 0.9},
    ]  # fmt: skip

    def expected() -> list[str]:
        return [client.post("/api/translate", {"text": TEXT} | strategy).json["text"] for strategy in strategies]

    visitor = visit()
    page = visitor.page
    visitor.types(TEXT)
    outputs = page.locator(".strategy .output p")
    expect(outputs).to_have_text(expected())
    strategies[2] |= {"seed": 2}
    strategies[3] |= {"seed": 2}
    page.get_by_role("button", name="Draw again").click()
    expect(outputs).to_have_text(expected())
    strategies[1] |= {"beam": 2}
    page.get_by_role("spinbutton", name="beam").fill("2")
    page.get_by_role("spinbutton", name="beam").press("Tab")
    expect(outputs).to_have_text(expected())


def test_empty_and_long_input(visit: Visit) -> None:
    visitor = visit(complains=True)
    page = visitor.page
    visitor.types(TEXT)
    visitor.translated()
    visitor.types("  \n ")
    expect(page.locator("#output")).to_be_empty()
    expect(page.locator("#strategies-card")).to_be_hidden()
    visitor.types("one " * 3000)
    expect(page.locator("#count.warn")).to_have_text("12,000 of 10,000 characters")
    expect(visitor.alert()).to_contain_text("at most 10000 are allowed")
    expect(page.locator("#output")).to_be_empty()  # not the translation of the text before
    expect(page.locator("#alternatives-card")).to_be_hidden()
    visitor.types("four")
    expect(visitor.alert()).to_be_hidden()
    visitor.opens("Inside")
    visitor.explained("four")
    for text in ("", "one " * 3000):
        page.get_by_label("Sentence to look into").fill(text)
        page.get_by_role("button", name="See inside").click()
        expect(page.locator("#walk")).to_be_hidden()
    expect(visitor.alert()).to_contain_text("at most 10000 are allowed")


def test_the_language_that_was_detected_is_shown(visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.types("eins zwei drei vier")
    visitor.translated()
    expect(page.locator("#translate").get_by_label("From", exact=True).locator("option").first).to_have_text(
        "German (detected)"
    )
    visitor.opens("Inside")
    visitor.explained("eins zwei drei vier")
    expect(page.locator("#inside").get_by_label("From", exact=True).locator("option").first).to_have_text(
        "German (detected)"
    )
    page.locator("#inside").get_by_label("From", exact=True).select_option("de")
    expect(page.locator("#inside").get_by_label("From", exact=True).locator("option").first).to_have_text(
        "Detect language"
    )


def test_a_model_without_codes_has_no_languages_to_choose(
    visit: Visit, serve: Callable[..., Any], model_without_codes: Path
) -> None:
    visitor = visit(serve(load(model_without_codes)).url)
    page = visitor.page
    visitor.types(TEXT)
    page.locator("#strategies-card").wait_for()
    expect(page.locator("select")).to_have_count(0)


def test_a_key_is_asked_for_where_one_is_needed(
    visit: Visit, serve: Callable[..., Any], number_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "keys").write_text("a-long-enough-secret-key\n", encoding="utf-8")
    visitor = visit(serve(load(number_model), api_keys=str(tmp_path / "keys")).url, complains=True)
    page = visitor.page
    visitor.types(TEXT)
    expect(visitor.alert()).to_contain_text("An API key is needed")
    page.get_by_label("API key").fill("a-long-enough-secret-key")
    visitor.types("four")
    visitor.translated()
    expect(visitor.alert()).to_be_hidden()
