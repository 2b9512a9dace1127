from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.decode.documents import cut, split_document

TEXTS = st.text(st.sampled_from("ab. !?\n\r\t,;é\u0301\u2028\x0c…。中" + '"'), max_size=60)


def at_most(most: int) -> Callable[[str], list[int] | None]:
    """A tokenizer that makes a token of each character, and a limit."""
    return lambda text: [ord(character) for character in text] if len(text) <= most else None


@given(TEXTS, st.booleans(), st.sampled_from([None, "en", "de", "xx"]))
def test_the_pieces_are_the_text(text: str, by_sentence: bool, language: str | None) -> None:
    pieces = list(split_document(text, language, by_sentence))
    assert "".join(piece for piece, _ in pieces) == text
    for piece, wanted in pieces:
        assert wanted == bool(piece.strip())
        assert not wanted or (piece == piece.strip() and "\n" not in piece and "\r" not in piece)


def test_sentences_and_paragraphs() -> None:
    text = "  One. Two, Mr. Smith!\r\n\r\nThree?\t\n"
    wanted = [piece for piece, wanted in split_document(text, "en", by_sentence=True) if wanted]
    assert wanted == ["One.", "Two, Mr. Smith!", "Three?"]
    whole = [piece for piece, wanted in split_document(text, "en", by_sentence=False) if wanted]
    assert whole == ["One. Two, Mr. Smith!", "Three?"]


@given(TEXTS, st.integers(1, 9))
def test_parts_fit_and_are_the_sentence(text: str, most: int) -> None:
    parts = cut(text, at_most(most))
    assert "".join(part for part, _ in parts) == text
    assert all(len(part) <= most for part, ids in parts if ids)
    assert all(ids for part, ids in parts if part.strip())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One is here. Two, and three", ["One is here.", "Two, and three"]),
        ("one is here; two and three", ["one is here;", "two and three"]),
        ("one two, three four", ["one two,", "three four"]),
        ("one two three four", ["one two", "three four"]),
        ("onetwothreefour", ["onetwot", "hreefour"]),
    ],
)
def test_a_cut_is_made_at_the_best_place(text: str, parts: list[str]) -> None:
    assert [part for part, ids in cut(text, at_most(len(text) * 2 // 3)) if ids] == parts


def test_a_letter_keeps_its_accent() -> None:
    text = "e\u0301" * 8
    parts = [part for part, _ in cut(text, at_most(5))]
    assert all(part.startswith("e") for part in parts)
