"""The page in a real browser, on a real server: what a person types, sees, points at and hears of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pellucid.decode.translator import load
from pellucid.tracing import explain

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
Browser, Page, Route, expect = playwright.Browser, playwright.Page, playwright.Route, playwright.expect

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip
expect.set_options(timeout=20_000)  # a busy machine is no mistake
STATIC = Path(__file__).parents[2] / "pellucid" / "serve" / "static"
TEXT = "one two three"
ATTACK = "<img src=x onerror='window.stolen=1'><script>window.stolen=1</script>"
STAGES = ["Tokens", "Embedding + position", "Queries, keys, values", "Scores", "Mask", "Softmax", "Weighted sum",
          "Heads side by side", "Add & norm", "Feed-forward", "Cross-attention", "Logits", "Chosen token"]  # fmt: skip

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def client(serve: Callable[..., Any], number_model: Path) -> Any:
    """Of a server whose model translates numbers in words."""
    return serve(load(number_model))


Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any, client: Any) -> Iterator[Open]:
    """Opens pages; at the end nothing may have been complained about in the console, or asked of another origin."""
    complaints: list[str] = []
    foreign: list[str] = []
    contexts = []

    def start(
        url: str = "", tab: str = "translate", width: int = 1440, scheme: str = "light", complains: bool = False
    ) -> Any:
        url = url or client.url
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        origin = urlsplit(url).netloc
        page.on("request", lambda request: foreign.append(request.url) if _leaves(request.url, origin) else None)
        if not complains:
            page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
        page.on("pageerror", lambda fault: complaints.append(str(fault)))
        page.goto(f"{url}/#/{tab}")
        expect(page.locator("#model")).not_to_be_empty()
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []
    assert foreign == []


def _leaves(url: str, origin: str) -> bool:
    return urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != origin


def _type(page: Any, text: str) -> None:
    page.get_by_label("Text to translate").fill(text)


def _translated(page: Any) -> Any:
    """The output, when the search is over."""
    output = page.locator("#output[aria-busy=false]:not(.draft):not(:empty)")
    output.wait_for()
    return output


def _inside(page: Any, text: str) -> None:
    page.get_by_label("Sentence to look into").fill(text)
    page.get_by_role("button", name="See inside").click()
    page.locator(".stage h2").wait_for()


def _go(page: Any, stage: str) -> None:
    page.locator(".stages").get_by_role("button", name=stage, exact=True).click()
    expect(page.locator(".stage h2")).to_have_text(stage)


def test_a_text_is_translated_as_it_is_typed_first_as_it_comes_and_then_by_search(open_page: Open, client: Any) -> None:
    greedy = client.post("/api/translate", {"text": TEXT, "strategy": "greedy"}).json
    best = client.post("/api/translate", {"text": TEXT, "beam": 5, "n_best": 4}).json
    page = open_page()
    held: list[Any] = []
    page.route("**/api/translate", lambda route: route.continue_() if held else held.append(route))
    page.get_by_label("Text to translate").press_sequentially(TEXT)
    expect(page.locator("#output.draft")).to_have_text(greedy["text"])
    page.wait_for_function("() => document.getElementById('output').getAttribute('aria-busy') === 'true'")
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(_translated(page)).to_have_text(best["text"])
    shown = page.locator("#alternatives button span").all_inner_texts()
    assert shown == [best["text"], *(each["text"] for each in best["alternatives"])]


def test_a_text_keeps_its_lines_on_the_way_inside_and_back(open_page: Open) -> None:
    page = open_page()
    _type(page, "one\ntwo")
    _translated(page)
    page.get_by_role("tab", name="Inside").click()
    expect(page.get_by_label("Sentence to look into")).to_have_value("one two")
    page.locator(".stage h2").wait_for()
    page.get_by_role("tab", name="Translate").click()
    expect(page.get_by_label("Text to translate")).to_have_value("one\ntwo")
    page.get_by_role("tab", name="Inside").click()
    _inside(page, "three")
    page.get_by_role("tab", name="Translate").click()
    expect(page.get_by_label("Text to translate")).to_have_value("three")


def test_an_alternative_can_be_chosen(open_page: Open, client: Any) -> None:
    best = client.post("/api/translate", {"text": TEXT, "beam": 5, "n_best": 4}).json
    page = open_page()
    _type(page, TEXT)
    _translated(page)
    second = page.locator("#alternatives button").nth(1)
    second.click()
    expect(page.locator("#output")).to_have_text(best["alternatives"][0]["text"])
    expect(second).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#alternatives button").first).to_have_attribute("aria-pressed", "false")


def test_both_directions(open_page: Open, client: Any) -> None:
    german = client.post("/api/translate", {"text": TEXT, "source": "en", "target": "de"}).json["text"]
    back = client.post("/api/translate", {"text": german, "source": "de", "target": "en"}).json["text"]
    page = open_page()
    page.locator("#translate").get_by_label("From").select_option("en")
    expect(page.locator("#translate").get_by_label("Into")).to_have_value("de")
    _type(page, TEXT)
    expect(_translated(page)).to_have_text(german)
    page.get_by_role("button", name="Swap languages").first.click()
    expect(page.get_by_label("Text to translate")).to_have_value(german)
    expect(page.locator("#translate").get_by_label("From")).to_have_value("de")
    expect(page.locator("#output:not(.draft)")).to_have_text(back)


def test_pointing_at_a_word_shows_what_it_looked_at(open_page: Open, client: Any) -> None:
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
    page = open_page()
    page.route("**/api/explain", lambda route: route.fulfill(json=trace))
    _type(page, TEXT)
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


def test_four_ways_to_decode_side_by_side(open_page: Open, client: Any) -> None:
    ways: list[dict[str, Any]] = [
        {"strategy": "greedy"}, {"strategy": "beam", "beam": 5},
        {"strategy": "sample", "temperature": 1, "seed": 1, "top_k": 10},
        {"strategy": "sample", "temperature": 1, "seed": 1, "top_p": 0.9},
    ]  # fmt: skip
    page = open_page()
    _type(page, TEXT)
    said = page.locator(".way .said p")
    expect(said).to_have_text([client.post("/api/translate", {"text": TEXT} | way).json["text"] for way in ways])
    ways[2] |= {"seed": 2}
    ways[3] |= {"seed": 2}
    page.get_by_role("button", name="Draw again").click()
    expect(said).to_have_text([client.post("/api/translate", {"text": TEXT} | way).json["text"] for way in ways])
    ways[1] |= {"beam": 2}
    page.get_by_role("spinbutton", name="beam").fill("2")
    page.get_by_role("spinbutton", name="beam").press("Tab")
    expect(said).to_have_text([client.post("/api/translate", {"text": TEXT} | way).json["text"] for way in ways])


def test_the_walk_goes_through_the_model_in_order(open_page: Open, client: Any) -> None:
    page = open_page(tab="inside")
    _inside(page, TEXT)
    trace = client.post("/api/explain", {"text": TEXT}).json
    expect(page.locator("#inside-status")).to_contain_text(trace["translation"].strip())
    for number, stage in enumerate(STAGES):
        expect(page.locator(".stage h2")).to_have_text(stage)
        expect(page.locator(".equation").first).to_be_visible()
        expect(page.locator(".stages [aria-current]")).to_have_text(stage)
        assert page.locator(".stage canvas").count() > 0 or stage in ("Tokens", "Chosen token")
        if number + 1 < len(STAGES):
            page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    most_open = max(trace["steps"], key=lambda step: step["entropy"])
    expect(page.locator(".chosen")).to_have_text(most_open["chosen"]["text"])


def test_every_number_can_be_read_by_keyboard_and_by_pointer(open_page: Open, client: Any) -> None:
    trace = client.post("/api/explain", {"text": TEXT}).json
    weights = trace["values"]["encoder.layers.0.self_attention.weights"]["values"][2]
    rows = [token["text"] for token in trace["source_tokens"]]
    page = open_page(tab="inside")
    _inside(page, TEXT)
    _go(page, "Softmax")
    page.get_by_role("group", name="head").get_by_role("radio", name="2").check()
    figure = page.locator("figure").nth(1)
    figure.locator(".scroll canvas").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):  # the first key finds the first cell
        page.keyboard.press(key)
    expect(figure.locator("output")).to_have_text(_readout(rows[1], rows[1], weights[1][1]))
    box = figure.locator(".scroll canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4)
    expect(figure.locator("output")).to_have_text(_readout(rows[-1], rows[-1], weights[-1][-1]))
    shapes = page.locator(".equation small").all_inner_texts()
    assert shapes == [f"{len(rows)} × {len(rows)}"] * 2


def _readout(query: str, key: str, weight: float) -> str:
    written = f"{weight:.3f}" if weight >= 0.001 else re.sub(r"e-0?(\d+)", r"e−\1", f"{weight:.1e}")
    return f"{query} → {key}: {written}"


def test_the_mask_hides_what_is_yet_to_be_said(open_page: Open, client: Any) -> None:
    page = open_page(tab="inside")
    _inside(page, TEXT)
    _go(page, "Mask")
    page.get_by_role("radio", name="decoder").check()
    masked = page.locator("figure").nth(1)
    masked.locator(".scroll canvas").focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(masked.locator("output")).to_contain_text("−∞")
    trace = client.post("/api/explain", {"text": TEXT}).json
    score = trace["values"]["decoder.layers.0.self_attention.scores"]["values"][0][1][0]
    _go(page, "Scores")  # before the mask, recomputed from queries and keys
    page.locator("figure .scroll canvas").focus()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    shown = page.locator("figure output").inner_text().split(":")[-1].replace("−", "-")
    assert float(shown) == pytest.approx(score, abs=1e-3)


@pytest.mark.parametrize(
    "parts",
    [
        {"positions": "rotary", "kv_heads": 2, "norm": "rms", "norm_place": "post", "activation": "swiglu"},
        {"positions": "learned", "norm_place": "pre", "activation": "gelu", "embedding_norm": True},
    ],
    ids=["rotary", "learned"],
)
def test_other_parts_are_walked_through_too(
    open_page: Open, serve: Callable[..., Any], make_model: Callable[..., Path], parts: dict[str, Any]
) -> None:
    client = serve(load(make_model(seed=1, **parts)))
    page = open_page(client.url, tab="inside")
    _inside(page, "the cat")
    for stage in STAGES:
        _go(page, stage)
    _go(page, "Scores")
    page.get_by_role("radio", name="encoder").check()
    page.get_by_role("group", name="head").get_by_role("radio", name="3").check()  # of four, over two pairs of keys
    page.get_by_role("group", name="layer").get_by_role("radio", name="1").check()
    trace = client.post("/api/explain", {"text": "the cat"}).json
    score = trace["values"]["encoder.layers.1.self_attention.scores"]["values"][3][0][0]
    page.locator("figure .scroll canvas").focus()
    page.keyboard.press("ArrowDown")
    shown = page.locator("figure output").inner_text().split(":")[-1].replace("−", "-")
    assert float(shown) == pytest.approx(score, abs=1e-3)


def test_heatmaps_of_sixty_tokens(open_page: Open) -> None:
    page = open_page(tab="inside")
    _inside(page, " ".join(["one"] * 70))
    for stage in ("Embedding + position", "Scores", "Heads side by side", "Cross-attention"):
        _go(page, stage)
        assert page.locator("figure").count() > 0
        assert _overflow(page) == 0


def test_a_worked_example_is_computed_again_while_it_is_edited(open_page: Open) -> None:
    page = open_page(tab="worked")
    page.get_by_role("button", name="W6").click()
    scores = page.locator(".working li").first
    expect(scores.locator(".verdict")).to_have_text("✗ wrong")
    right = {"row 1, column 1": "0.22", "row 1, column 2": "0.18", "row 2, column 1": "0.41", "row 2, column 2": "0.39"}
    for place, value in right.items():
        page.get_by_label(f"scores, {place}").fill(value)
    expect(scores.locator(".verdict")).to_have_text("✓ right")
    expect(page.locator(".working li").nth(1).locator(".verdict")).to_have_text("✗ wrong")  # was carried: now its own
    field = page.get_by_label("scores, row 1, column 1")
    field.press("ArrowUp")
    expect(field).to_have_value("0.23")
    expect(field).to_have_attribute("aria-label", "scores, row 1, column 1, wrong")
    # 0.1 · 0.2 + 0.5 · 0.5 = 0.27
    page.get_by_label("Q, row 1, column 2").fill("0.5")
    expect(scores.locator(".block").nth(1).locator(".number").first).to_have_text("0.27")
    page.get_by_role("button", name="As it was").click()
    expect(field).to_have_value("0.28")
    expect(scores.locator(".verdict")).to_have_text("✗ wrong")


def test_what_is_no_number_is_said_until_it_is_one(open_page: Open) -> None:
    page = open_page(tab="worked", complains=True)
    page.get_by_role("button", name="W6").click()
    page.get_by_label("Q, row 1, column 1").fill("0.x")
    expect(page.get_by_role("alert")).to_contain_text("'0.x' is no number")
    page.get_by_label("Q, row 1, column 1").fill("0.1")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_empty_and_long_input(open_page: Open) -> None:
    page = open_page(complains=True)
    _type(page, TEXT)
    _translated(page)
    _type(page, "  \n ")
    expect(page.locator("#output")).to_be_empty()
    expect(page.locator("#strategies-card")).to_be_hidden()
    _type(page, "one " * 3000)
    expect(page.locator("#count.warn")).to_have_text("12,000 of 10,000 characters")
    expect(page.get_by_role("alert")).to_contain_text("at most 10000 are allowed")
    _type(page, "four")
    expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_role("tab", name="Inside").click()
    page.get_by_label("Sentence to look into").fill("")
    page.get_by_role("button", name="See inside").click()
    expect(page.locator("#walk")).to_be_hidden()


def test_a_server_that_has_stopped_is_said(
    open_page: Open, serve_until_stopped: Callable[..., Any], number_model: Path
) -> None:
    server = serve_until_stopped(load(number_model))
    page = open_page(server.client.url, complains=True)
    _type(page, TEXT)
    _translated(page)
    page.locator("#alignment .word").first.wait_for()
    server.stop()
    server.thread.join()
    told = "The server does not answer. Is it still running?"
    _type(page, "four")
    expect(page.get_by_role("alert")).to_have_text(told)
    for tab in ("Inside", "Worked examples"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("alert")).to_have_text(told)


def test_text_is_text(open_page: Open) -> None:
    page = open_page()
    _type(page, ATTACK)
    _translated(page)
    page.locator("#alignment .word").first.wait_for()
    page.get_by_role("tab", name="Inside").click()
    page.locator(".stage h2").wait_for()
    expect(page.locator("#inside-status")).to_contain_text("<img src=x")
    for stage in STAGES:
        _go(page, stage)
    assert page.evaluate("window.stolen") is None
    assert page.locator("main img, main script").count() == 0


def test_a_key_is_asked_for_where_one_is_needed(
    open_page: Open, serve: Callable[..., Any], number_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "keys").write_text("a-long-enough-secret-key\n", encoding="utf-8")
    page = open_page(serve(load(number_model), api_keys=str(tmp_path / "keys")).url, complains=True)
    _type(page, TEXT)
    expect(page.get_by_role("alert")).to_contain_text("An API key is needed")
    page.get_by_label("API key").fill("a-long-enough-secret-key")
    _type(page, "four")
    _translated(page)
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_model_without_codes_has_no_languages_to_choose(
    open_page: Open, serve: Callable[..., Any], model_without_codes: Path
) -> None:
    page = open_page(serve(load(model_without_codes)).url)
    _type(page, TEXT)
    page.locator("#strategies-card").wait_for()
    assert page.locator("select").count() == 0


def test_the_tabs_are_worked_by_keyboard(open_page: Open) -> None:
    page = open_page()
    page.get_by_role("tab", name="Translate").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tabpanel", name="Inside")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tabpanel", name="Worked examples")).to_be_visible()
    expect(page.get_by_role("tab", name="Worked examples")).to_be_focused()
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
def test_everything_fits_and_can_be_used_by_everyone(open_page: Open, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    def sound(part: str) -> None:
        assert _overflow(page) == 0, part
        found = Axe().run(page).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == [], part

    page = open_page(width=width, scheme=scheme)
    _type(page, f"{TEXT} {'x' * 120}")
    _translated(page)
    page.locator("#alignment .word").first.wait_for()
    page.locator(".way small").nth(3).wait_for()
    page.locator("#alignment .word").nth(1).hover()
    sound("translate")
    page.get_by_role("tab", name="Inside").click()
    page.locator(".stage h2").wait_for()
    for stage in STAGES:
        _go(page, stage)
        assert _overflow(page) == 0, stage
        if stage in ("Heads side by side", "Chosen token"):
            sound(stage)
    page.get_by_role("tab", name="Worked examples").click()
    for example in page.locator("#examples button").all():
        example.click()
        assert _overflow(page) == 0, example.inner_text()
    page.get_by_role("button", name="W8").click()
    sound("worked")


def _overflow(page: Any) -> int:
    return int(page.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"))


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
        assert set(re.findall(r"https?://[^\s\"']+", text)) <= {"http://www.w3.org/1998/Math/MathML"}, path


def test_the_report_draws_in_a_browser_without_a_server(browser: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(explain(str(model), TEXT, "en", "de").to_html(), encoding="utf-8")
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda line: complaints.append(line.text))
    page.on("pageerror", lambda fault: complaints.append(str(fault)))
    page.goto((tmp_path / "report.html").as_uri())
    expect(page.locator("#head canvas").first).to_be_visible()
    page.close()
    assert complaints == []
