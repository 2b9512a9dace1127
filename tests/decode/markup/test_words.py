from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.decode.markup.words import find_words, similarity, source_tokens, word_of_token, word_weights
from pellucid.text.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't go, it's 3.50!", ["Don't", "go", ",", "it's", "3.50", "!"]),
        ("well-known a_b", ["well", "-", "known", "a", "_", "b"]),
        ("19:30 on 3/4/2022.", ["19:30", "on", "3/4/2022", "."]),
        ("我们 ok", ["我", "们", "ok"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("„Straße“…", ["„", "Straße", "“", "…"]),
        (" \n", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert [word.text for word in find_words(text)] == words


@given(st.text())
def test_words_are_the_text_without_white_space(text: str) -> None:
    words = find_words(text)
    assert all(text[word.start : word.end] == word.text for word in words)
    between = "".join(text[one.end : two.start] for one, two in pairwise(words))
    assert not between.strip()


@given(st.text(alphabet="ab é,.1\u3042 ", max_size=30))
def test_each_token_belongs_to_the_word_that_it_is_part_of(tokenizer: Tokenizer, text: str) -> None:
    words = find_words(text)
    tokens = source_tokens(tokenizer, text, before=1)
    found = word_of_token(tokens, words)
    assert found[0] == found[-1] == -1
    for (start, end), word in zip(tokens, found, strict=True):
        shared = [len({*range(start, end)} & {*range(each.start, each.end)}) for each in words]
        assert (shared[word] == max(shared) > 0) if word >= 0 else not any(shared)


def test_weights_of_tokens_become_weights_of_words() -> None:
    """By hand: two source tokens make the first word, one the second; the last is the end."""
    weights = np.array([[0.2, 0.1, 0.5, 0.2], [0.1, 0.1, 0.0, 0.8], [0.0, 0.1, 0.8, 0.1]])
    found = word_weights(weights, [0, 0, 1, -1], [0, 0, 1], (2, 2))
    np.testing.assert_allclose(found, [[0.25 / 0.5, 0.25 / 0.5], [0.1 / 0.9, 0.8 / 0.9]])


def test_signs_seldom_translate_words_and_names_are_their_own_translation() -> None:
    source, target = find_words("Anna came."), find_words("kam Anna.")
    even = np.full((3, 3), 1 / 3)
    found = similarity(even, source, target)
    assert found.argmax(axis=1).tolist() == [1, 0, 2] or found[0, 0] == found[0, 1]
    assert found[1].argmax() == 0  # Anna
    assert found[2].argmax() == 2  # .
    assert found[0, 2] < found[0, 1]
