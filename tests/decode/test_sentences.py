from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.decode.sentences import SourceText, cut, read_documents, split_document
from pellucid.text.tokenizer import Tokenizer, Tokenizers
from pellucid.text.unicode import well_formed

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


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Thanks 👍", ["Thanks"]),
        ("❤️ I love it! 👨‍👩‍👧 🎉\n👍🏽", ["I love it!"]),
        ("Mind the 🐕 there", ["Mind the 🐕 there"]),
        ("20 € for 5 kg", ["20 € for 5 kg"]),
    ],
)
def test_emoji_around_a_sentence_are_not_part_of_it(text: str, wanted: list[str]) -> None:
    assert [piece for piece, wanted in split_document(text, "en", by_sentence=True) if wanted] == wanted
    assert [piece for piece, wanted in split_document(text, None, by_sentence=False) if wanted] == [
        line.strip() for line in text.splitlines()
    ]  # a text in no language may mean them


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


def test_a_long_row_of_dots_is_read_once() -> None:
    text = "a" + "." * 10**6 + " b"  # the square of that would take days
    assert "".join(part for part, _ in cut(text, at_most(10**6))) == text


def test_a_letter_keeps_its_accent() -> None:
    text = "e\u0301" * 8
    parts = [part for part, _ in cut(text, at_most(5))]
    assert all(part.startswith("e") for part in parts)


@pytest.mark.parametrize("marks", [900, 100_000])
def test_a_letter_with_any_number_of_accents_is_cut(marks: int) -> None:
    text = "a" + "\u0301" * marks
    parts = cut(text, at_most(30))
    assert "".join(part for part, _ in parts) == text
    assert all(ids for _, ids in parts)


DIRECTIONS = [("en", "de"), ("de", "en")]
AWKWARD = st.text(st.sampled_from("abe. !?\n\t,-\u0301…中😀\ud800\udc00"), max_size=80)


@given(
    st.lists(st.tuples(AWKWARD, st.sampled_from(DIRECTIONS)), max_size=6),
    st.integers(3, 12),
    st.sampled_from([None, False]),
)
def test_texts_are_read_together_as_they_are_alone(
    tokenizer: Tokenizer, given: list[tuple[str, tuple[str, str]]], longest: int, split: bool | None
) -> None:
    sources = [SourceText(text, direction) for text, direction in given]
    both = Tokenizers(tokenizer, tokenizer)
    together = read_documents(sources, both, longest, split)
    alone = [read_documents([source], both, longest, split)[0] for source in sources]
    assert together == alone
    for (text, direction), document in zip(given, together, strict=True):
        assert document.direction == direction
        assert "".join(span.text for span in document.spans) == well_formed(text)
        for span in document.spans:
            if span.sentence is not None:
                assert len(span.sentence.source_ids) <= longest
                assert list(span.sentence.source_ids) == both.encode_source(span.text, direction[1])
                assert span.sentence.target_language == direction[1]


def test_nothing_is_lost_where_a_token_is_longer_than_any_should_be() -> None:
    rule = "=" * 200
    tokenizer = Tokenizer.learn([f"a {rule} b"] * 4, 600)
    assert len(tokenizer.encode(rule)) < 5
    text = "a " + rule * 3 + " b"
    [document] = read_documents([SourceText(text, (None, None))], Tokenizers(tokenizer, tokenizer), 4)
    assert "".join(span.text for span in document.spans) == text
    sources = [(span.text, span.sentence.source_ids if span.sentence else ()) for span in document.spans]
    assert "".join(tokenizer.decode(ids) if ids else kept for kept, ids in sources) == text
    assert document.notes
