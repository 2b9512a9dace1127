"""The words of a sentence, and how strongly each target word is aligned with each source word.

The model aligns tokens. Here they are put together to words: runs of letters, numbers, single signs, and single
characters of scripts that are written without spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pellucid.text.tokenizer import Tokenizer

Floats = NDArray[np.float64]

NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai to Han
WORD = re.compile(
    rf"[{NO_SPACES}]"
    r"|\d+(?:[.,:/]\d+)*"
    rf"|(?:(?![{NO_SPACES}])[^\W\d_])+(?:['’](?:(?![{NO_SPACES}])[^\W\d_])+)*"
    r"|_+|[^\w\s]"
)
OTHER_KIND = 0.1  # of a weight between a word and a sign
SAME = 1.0  # added for a word that is the same in both languages: a name, a number, a copied word


class Word(NamedTuple):
    start: int
    end: int
    text: str

    @property
    def is_sign(self) -> bool:
        return not self.text[0].isalnum()


def find_words(text: str) -> list[Word]:
    """The words of a text, in order. Combining characters belong to the word before them."""
    found: list[tuple[int, int]] = []
    for match in WORD.finditer(text):
        start, end = match.span()
        follows = bool(found) and found[-1][1] == start
        # A letter may end in the middle and go on: \u0915 + \u094d + \u0937.
        if follows and (_combines(text[start]) or _combines(text[start - 1])):
            start = found.pop()[0]
        found.append((start, end))
    return [Word(start, end, text[start:end]) for start, end in found]


def _combines(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or character == "\u200d"


def word_of_token(tokens: Sequence[tuple[int, int]], words: Sequence[Word]) -> list[int]:
    """The word that each token, from start to end, is part of; -1: of none."""
    found, first = [], 0
    for start, end in tokens:
        while first < len(words) and words[first].end <= start:
            first += 1
        best, most = -1, 0
        for place in range(first, len(words)):
            if words[place].start >= end:
                break
            shared = min(end, words[place].end) - max(start, words[place].start)
            if shared > most:
                best, most = place, shared
        found.append(best)
    return found


def source_tokens(tokenizer: Tokenizer, text: str, before: int) -> list[tuple[int, int]]:
    """Start and end of the source tokens in their text: of `before` special ones, those of the text, and the end."""
    offsets = tokenizer.engine.encode(text, add_special_tokens=False).offsets
    return [(0, 0)] * before + [(start, end) for start, end in offsets] + [(0, 0)]


def target_tokens(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of the target tokens in their text, from the texts of the first token, the first two, and so on."""
    ends = [len(text) for text in texts]
    return list(zip([0, *ends], ends, strict=False))


def word_weights(weights: Floats, source: Sequence[int], target: Sequence[int], sizes: tuple[int, int]) -> Floats:
    """Weights of tokens (target token, source token), and the word of each token -> weights of words (target word,
    source word): those of the tokens of a source word are added, those of a target word averaged. A row sums to 1."""
    target_words, source_words = sizes
    columns = np.zeros((len(source), source_words))
    rows = np.zeros((target_words, len(target)))
    for token, word in enumerate(source):
        if word >= 0:
            columns[token, word] = 1
    for token, word in enumerate(target):
        if word >= 0:
            rows[word, token] = 1
    # (target word, target token) (target token, source token) (source token, source word)
    found: Floats = rows @ weights[: len(target), : len(source)] @ columns
    found /= np.maximum(found.sum(axis=1, keepdims=True), 1e-9)
    return found


def similarity(weights: Floats, source: Sequence[Word], target: Sequence[Word]) -> Floats:
    """The weights with what the words themselves show: a word is seldom translated by a sign, and a name or number
    that is the same in both languages is its own translation. (target word, source word)."""
    signs_of_target = np.array([word.is_sign for word in target], bool)
    signs_of_source = np.array([word.is_sign for word in source], bool)
    same_kind = signs_of_target[:, None] == signs_of_source[None]  # (target word, source word)
    found = np.where(same_kind, weights, OTHER_KIND * weights)
    places: dict[str, list[int]] = {}
    for place, word in enumerate(source):
        places.setdefault(word.text, []).append(place)
    for place, word in enumerate(target):
        if word.text in places:
            found[place, places[word.text]] += SAME
    return found
