from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.decode.placeholders import kept, mask, pieces, placeholders, remove, unmask


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hello {name}, you have %d messages", ["{name}", "%d"]),
        ("<b>bold</b> and <a href='x'>link</a><br/>", ["<b>", "</b>", "<a href='x'>", "</a>", "<br/>"]),
        ("%1$s of %(total)s, %.2f", ["%1$s", "%(total)s", "%.2f"]),
        ("${home} {{ user.name }} {0} {}", ["${home}", "{{ user.name }}", "{0}", "{}"]),
        ("&nbsp;&#160;&lt;", ["&nbsp;", "&#160;", "&lt;"]),
        ("100% sure, 5 < 6 and 7 > 6, a {set of things}, AT&T", []),
        ("a 50% discount", []),
    ],
)
def test_what_is_a_placeholder(text: str, found: list[str]) -> None:
    assert placeholders(text) == found


@given(st.lists(st.sampled_from(["{name}", "%s", "<b>", "word", " ", "9001", "7"])))
def test_masks_come_off_and_pieces_are_the_text(parts: list[str]) -> None:
    text = "".join(parts)
    masked, stand_ins = mask(text)
    assert placeholders(masked) == []
    assert unmask(masked, stand_ins) == text
    assert "".join(piece for piece, _ in pieces(text)) == text
    assert remove("".join(piece for piece, wanted in pieces(text) if not wanted)) == ""


def test_kept_counts() -> None:
    assert kept("{a} of {b}", "{b} von {a}")
    assert not kept("{a} of {b}", "{a} von {a}")
    assert not kept("nothing", "{a}")


def test_a_long_row_of_digits_is_read_once() -> None:
    assert placeholders("%" + "0" * 10**6) == []  # the square of that would take days
