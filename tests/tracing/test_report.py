"""The report: one file, nothing fetched, and text that stays text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pellucid.tracing import Trace, explain

MakeModel = Callable[..., Path]
ATTACK = "<script>alert('the cat')</script><img src=x onerror=alert(1)>{{script}}<!--&amp;\"'"


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


@pytest.fixture(scope="module")
def trace(make_model: MakeModel) -> Trace:
    return explain(make_model(), ATTACK, "en", "de", target_text=f"die Katze </script>{ATTACK}")


@pytest.fixture(scope="module")
def report(trace: Trace) -> Reader:
    return Reader(trace.to_html())


def test_text_from_people_never_becomes_markup(report: Reader, trace: Trace) -> None:
    tags = [tag for tag, _ in report.elements]
    assert tags.count("script") == 2  # the data and the program
    assert "img" not in tags
    assert not [name for _, attributes in report.elements for name in attributes if name.startswith("on")]
    assert "".join(report.contents["title"]) == f"{ATTACK} → die Katze </script>{ATTACK}"


def test_the_data_inside_is_the_trace(report: Reader, trace: Trace) -> None:
    data = json.loads(report.contents["script"][0])
    assert data == trace.to_dict()
    assert data["text"] == ATTACK


def test_the_policy_allows_what_is_in_the_file_and_nothing_else(trace: Trace, report: Reader) -> None:
    [policy] = [str(a["content"]) for tag, a in report.elements if tag == "meta" and "http-equiv" in a]
    rules = dict(rule.strip().split(" ", 1) for rule in unescape(policy).split(";"))
    assert rules["default-src"] == "'none'"
    for kind, content in (("style-src", report.contents["style"][0]), ("script-src", report.contents["script"][1])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"


def test_nothing_is_fetched(report: Reader) -> None:
    for _, attributes in report.elements:
        assert not {"src", "srcset", "action", "style"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")
    program = report.contents["script"][1] + report.contents["style"][0]
    assert set(re.findall(r"https?://[^\"'\s]*", program)) == {"http://www.w3.org/2000/svg"}  # a name, never loaded
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|fetch\(|@import|url\(", program
    )


def test_every_place_the_program_fills_is_there(report: Reader) -> None:
    places = {attributes["id"] for _, attributes in report.elements if "id" in attributes}
    used = set(re.findall(r'place\("([\w-]+)"\)', report.contents["script"][1]))
    assert used <= places
    links = {str(attributes["href"])[1:] for tag, attributes in report.elements if tag == "a"}
    assert links <= places
