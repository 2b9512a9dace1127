from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.decode.protected_spans import ADDRESSES, ADDRESSES_AND_PLACEHOLDERS, mask, may_have_address, unmask
from pellucid.decode.sentences import SourceText, take_tags_out
from pellucid.decode.translation import Translation


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hello {name}, you have %d messages", ["{name}", "%d"]),
        ("<b>bold</b> and <a href='x'>link</a><br/>", []),  # tags go where their words go
        ("%1$s of %(total)s, %.2f", ["%1$s", "%(total)s", "%.2f"]),
        ("${home} {{ user.name }} {0} {}", ["${home}", "{{ user.name }}", "{0}", "{}"]),
        ("&nbsp;&#160;&lt;", ["&nbsp;", "&#160;", "&lt;"]),
        ("100% sure, 5 < 6 and 7 > 6, a {set of things}, AT&T", []),
        ("a 50% discount", []),
        ("See www.example.com. Or (https://example.com/a?b=c&d)!", ["www.example.com", "https://example.com/a?b=c&d"]),
        ("write to anna.b+c@mail.example.org, today", ["anna.b+c@mail.example.org"]),
        (
            "https://x.example/Berlin_(city). https://x.example/a)",
            ["https://x.example/Berlin_(city)", "https://x.example/a"],
        ),
        ("https://x.example/{id} and https://{host}.example", ["https://x.example/", "{id}", "{host}"]),
        ("请访问https://x.example。谢谢大家 邮箱是a@b.example谢谢", ["https://x.example", "a@b.example"]),
        ("„www.x.example“ https://de.x.example/Straße…", ["www.x.example", "https://de.x.example/Straße"]),
        ("www. is no address, nor is a @ b, a@b or http:// alone", []),
    ],
)
def test_what_is_a_placeholder(text: str, found: list[str]) -> None:
    assert ADDRESSES_AND_PLACEHOLDERS.found(text) == found
    addresses = [each for each in found if "example" in each]
    assert ADDRESSES.found(text) == addresses
    assert may_have_address(text) == bool(addresses)


@given(st.lists(st.sampled_from(["{name}", "%s", "<b>", "</b>", "word", " ", "9001", "7", "www.a.b", "a@b.c"])))
def test_masks_come_off_and_pieces_are_the_text(parts: list[str]) -> None:
    source = take_tags_out(SourceText("".join(parts), (None, None)))
    text = source.text
    kept = ADDRESSES_AND_PLACEHOLDERS
    stand_ins = kept.stand_ins(text)
    masked = mask(source, stand_ins)
    spans = {number: text[start:end] for start, end, number in stand_ins}
    restored = unmask(Translation(masked.text, 0.0, (), tags=masked.tags), spans)
    assert restored.text == text
    # A tag within a span goes before it.
    starts = {place: start for start, end, _ in stand_ins for place in range(start, end)}
    assert restored.tags == tuple(tag._replace(place=starts.get(tag.place, tag.place)) for tag in source.tags)
    assert "".join(piece for piece, _ in kept.pieces(text)) == text
    assert [kept.found(piece) for piece, wanted in kept.pieces(text) if not wanted] == [
        [each] for each in kept.found(text)
    ]


def test_kept_counts() -> None:
    all_in = ADDRESSES_AND_PLACEHOLDERS.all_in
    assert all_in("{a} of {b}", "{b} von {a}")
    assert not all_in("{a} of {b}", "{a} von {a}")
    assert not all_in("nothing", "{a}")


@pytest.mark.parametrize("part", ["0", "www.", "http://", "a@", "a.", "{", "<a", "&a", "(", "."])
def test_a_hostile_text_is_read_once(part: str) -> None:
    text = "%" + part * (10**6 // len(part))  # the square of that would take hours
    assert "".join(piece for piece, _ in ADDRESSES_AND_PLACEHOLDERS.pieces(text)) == text


def test_signs_that_touch_what_is_kept_stay_with_it() -> None:
    text = "See (www.example.com), please, or {a}."
    pieces = [("See ", True), ("(www.example.com),", False), (" please, or ", True), ("{a}.", False)]
    assert ADDRESSES_AND_PLACEHOLDERS.pieces(text) == pieces
