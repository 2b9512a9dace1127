"""Tags are taken out of a text and put back: nothing is lost, elements stay nested, and time is linear."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.decode.markup.tags import Node, Tag, edited, nested, put_back, tag_pieces, take_out

PARTS = st.sampled_from(
    ["<b>", "</b>", "<i>", "</i>", "<a href='x'>", "</a>", "<br/>", "<p>", "</p>", "one", "two", " "]
)
TEXTS = st.lists(PARTS, max_size=14).map("".join)


@pytest.mark.parametrize(
    ("source", "text", "tags"),
    [
        ("Where is the <b>station</b>?", "Where is the station?", [("<b>", 13), ("</b>", 20)]),
        ("a <img src=x> b", "a b", [("<img src=x>", 2)]),
        ("one<br>two", "one two", [("<br>", 3)]),  # else they would be one word
        ("one<b>two</b>", "onetwo", [("<b>", 3), ("</b>", 6)]),
        ("5 < 6 and 7 > 6", "5 < 6 and 7 > 6", []),
        ("", "", []),
        ("a <i></b> b", "a b", [("<i>", 2), ("</b>", 2)]),
    ],
)
def test_a_text_without_its_tags(source: str, text: str, tags: list[tuple[str, int]]) -> None:
    found, taken = take_out(tag_pieces(source))
    assert (found, [(tag.text, tag.place) for tag in taken]) == (text, tags)


@pytest.mark.parametrize(
    "source",
    [
        "Use <code>x</code> and <img src=y> here.",
        "<code>x</code> a",
        "a <code>x</code>, b",
        "a<code>x</code> b",
        "<img> a",
    ],
)
def test_what_is_kept_whole_stands_apart_as_it_did(source: str) -> None:
    pieces = [(piece, piece.startswith("<")) for piece in re.split(r"(<code>x</code>|<img[^>]*>)", source)]
    text, tags = take_out(pieces)
    assert put_back(text, tags).replace(" ", "") == source.replace(" ", "")
    for word in re.findall(r"(?:\w+ )?<(?:code>x</code|img[^>]*)>(?: \w+)?", source):
        assert word in put_back(text, tags)


@given(TEXTS)
def test_no_tag_is_lost_on_the_way(source: str) -> None:
    text, tags = take_out(tag_pieces(source))
    assert [tag.text for tag in tags] == re.findall(r"<[^>]*>", source)
    assert "".join(text.split()) == "".join(re.sub(r"<[^>]*>", "", source).split())
    assert list(tag_pieces(put_back(text, tags))) == list(tag_pieces(put_back(*take_out(tag_pieces(source)))))


def by_stack(source: str) -> int:
    """How many elements of a text are closed, by another reader: one that is closed ends those that were left open."""
    found: list[str] = []
    closed = 0

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, _attrs: object) -> None:
            found.append(tag)

        def handle_startendtag(self, tag: str, _attrs: object) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            nonlocal closed
            if tag in found:
                while found.pop() != tag:
                    pass
                closed += 1

    reader = Reader()
    reader.feed(source)
    return closed


@given(TEXTS)
def test_elements_are_found_as_another_reader_finds_them(source: str) -> None:
    _, tags = take_out(tag_pieces(source))
    every = list(_all(nested(tags, 10**6) or []))
    assert sum(node.end is not None for node in every) == by_stack(source)
    assert len(tags) == len(every) + by_stack(source)
    assert [tag for node in nested(tags, 10**6) or [] for tag in _written(node)] == list(tags)


def _all(nodes: list[Node]) -> list[Node]:
    return [each for node in nodes for each in (node, *_all(node.inside))]


def _written(node: Node) -> list[Tag]:
    return [node.start, *[tag for each in node.inside for tag in _written(each)], *([node.end] if node.end else [])]


@given(TEXTS, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.text("xyz", max_size=4)), max_size=4))
def test_edits_move_tags_with_their_text(source: str, drawn: list[tuple[int, int, str]]) -> None:
    """Tags outside of what is edited keep the same text before and after them."""
    text, tags = take_out(tag_pieces(source))
    edits: list[tuple[int, int, str]] = []
    for start, end, new in sorted((min(a, b), max(a, b), new) for a, b, new in drawn):
        if end <= len(text) and start < end and start >= (edits[-1][1] if edits else 0):
            edits.append((start, end, new))
    changed, moved = edited(text, tags, edits)
    expected = text
    for start, end, new in reversed(edits):
        expected = expected[:start] + new + expected[end:]
    assert changed == expected
    for before, after in zip(tags, moved, strict=True):
        shift = sum(len(new) - (end - start) for start, end, new in edits if end <= before.place)
        inside = next((start for start, end, _ in edits if start <= before.place < end), before.place)
        assert after == before._replace(place=inside + shift)


@pytest.mark.parametrize("part", ["<b>", "</b>", "<b></b>", "<b><i></b>", "<", "<a ", "<b>x"])
def test_a_hostile_text_is_read_once(part: str) -> None:
    text, tags = take_out(tag_pieces(part * (300_000 // len(part))))  # the square of that would take hours
    assert len(nested(tags, 10**6) or []) <= len(tags)
    assert nested(tags, 10) is None or part in ("</b>", "<b></b>", "<", "<a ", "<b><i></b>")
    assert "<b>" not in text
