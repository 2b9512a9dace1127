"""Report and sheet: one file each, nothing fetched, and text that stays text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from pellucid.tracing import explain, watch
from pellucid.worked import CheckedExample, check, shipped
from pellucid.worked.examples import read, read_text
from pellucid.worked.page import page
from pellucid.worked.plain import plain

MakeModel = Callable[..., Path]
ATTACK = "<script>window.stolen=1</script><img src=x onerror=window.stolen=1>{{script}}<!--&amp;\"'"
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}  # names, never loaded


class Reader(HTMLParser):
    """Every element with its attributes, and what stands in scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.current = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.current = tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self.current = ""

    def handle_data(self, data: str) -> None:
        if self.current in self.contents:
            self.contents[self.current].append(data)


class Offline(NamedTuple):
    text: str
    title: str
    data: Any


@pytest.fixture(scope="module", params=["report", "sheet", "learning"])
def offline(request: pytest.FixtureRequest, make_model: MakeModel) -> Offline:
    """The report of an attack that is translated, the page of how it is learned, or the sheet of one that is worked."""
    if request.param == "report":
        trace = explain(make_model(), ATTACK, "en", "de", target_text=f"die Katze </script>{ATTACK}")
        return Offline(trace.to_html(), f"{ATTACK} → die Katze </script>{ATTACK}", trace.to_dict())
    if request.param == "learning":
        learning = watch("dates", ATTACK, target_text=ATTACK)
        return Offline(learning.to_html(), f"{ATTACK}: how dates learned it", learning.to_dict())
    checked = worked_attack()
    return Offline(page([checked]), ATTACK, [plain(checked)])


def worked_attack() -> CheckedExample:
    evil = json.dumps(ATTACK)
    text = f"""
        id = {evil}
        title = {evil}
        about = {evil}
        [inputs]
        words = [{evil}, "b"]
        [[steps]]
        name = "a"
        expression = "words[0]"
        stated = {json.dumps(ATTACK + "!")}
        note = {evil}
        """
    return check(read_text(text, "own.toml"))


@pytest.fixture(scope="module")
def reader(offline: Offline) -> Reader:
    return Reader(offline.text)


def test_text_from_people_never_becomes_markup(reader: Reader, offline: Offline) -> None:
    tags = [tag for tag, _ in reader.elements]
    assert tags.count("script") == 2  # the data and the program
    assert "img" not in tags
    assert not [name for _, attributes in reader.elements for name in attributes if name.startswith("on")]
    assert "".join(reader.contents["title"]) == offline.title


def test_the_data_inside_is_what_was_given(reader: Reader, offline: Offline) -> None:
    data = json.loads(reader.contents["script"][0])
    if "deflated" in data:  # tests/web/test_packed.py compares its arrays
        data = json.loads(zlib.decompress(base64.b64decode(data["deflated"])))
        data = {name: value for name, value in data.items() if value == offline.data[name]}
        assert len(data) > len(offline.data) - 5
    else:
        assert data == offline.data
    assert ATTACK in json.dumps(data, ensure_ascii=False).replace('\\"', '"')


def test_the_policy_allows_what_is_in_the_file_and_nothing_else(reader: Reader) -> None:
    [policy] = [str(a["content"]) for tag, a in reader.elements if tag == "meta" and "http-equiv" in a]
    rules = dict(rule.strip().split(" ", 1) for rule in unescape(policy).split(";"))
    assert rules["default-src"] == "'none'"
    for kind, content in (("style-src", reader.contents["style"][0]), ("script-src", reader.contents["script"][1])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"


def test_nothing_is_fetched(reader: Reader) -> None:
    for _, attributes in reader.elements:
        assert not {"src", "srcset", "action", "style", "href"} & attributes.keys()
    program = reader.contents["script"][1] + reader.contents["style"][0]
    assert set(re.findall(r"https?://[^\"'\s]*", program)) <= NAMESPACES
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|fetch\(|@import|url\(", program
    )
    assert "prefers-color-scheme: dark" in program


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        (1440, "light"),
        pytest.param(390, "light", marks=pytest.mark.proof),
        pytest.param(1440, "dark", marks=pytest.mark.proof),
    ],
)
def test_it_opens_from_a_file_fits_and_can_be_used_by_everyone(
    browser: Any, offline: Offline, tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    (tmp_path / "offline.html").write_text(offline.text, encoding="utf-8")
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints: list[str] = []
    requested: list[str] = []
    tab.on("console", lambda line: complaints.append(line.text))
    tab.on("pageerror", lambda fault: complaints.append(str(fault)))
    tab.on("request", lambda request: requested.append(request.url))
    address = (tmp_path / "offline.html").as_uri()
    tab.goto(address)
    tab.locator("footer").wait_for()
    assert tab.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth") == 0
    assert tab.evaluate("window.stolen") is None
    assert tab.locator("main img, main script").count() == 0
    assert ATTACK in tab.locator("body").inner_text()
    serious = _faults(tab, Axe())
    following = tab.get_by_role("link", name="Next →", exact=True)
    while following.count():  # the stages of a report
        following.click()
        assert tab.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth") == 0
        if tab.locator(".stage h2").inner_text() in ("Tokens", "Softmax", "Next token", "All heads", "Alignment"):
            serious += _faults(tab, Axe())
    assert tab.evaluate("window.stolen") is None
    assert tab.locator("main img, main script").count() == 0
    tab.close()
    assert serious == []
    assert complaints == []
    assert requested == [address]


def _faults(tab: Any, axe: Any) -> list[tuple[str, str]]:
    """What keeps somebody from using it."""
    found = axe.run(tab).response["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")]


def test_the_sheet_of_all_examples_has_the_data_of_each() -> None:
    checked = [check(read(str(path))) for path in shipped()]
    reader = Reader(page(checked))
    assert json.loads(reader.contents["script"][0]) == [plain(each) for each in checked]
