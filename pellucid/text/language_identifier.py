"""Language identification: naive Bayes over the character n-grams of words, learned from the pairs.

Stored as `languages.json` in the model directory, together with the languages and directions of the model.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from pellucid.errors import UserError
from pellucid.text.languages import Direction

LONGEST_NGRAM = 5
WORD = re.compile(r"[^\W\d_]+")
FILE = "languages.json"
FILE_BYTES = 130_000  # roughly
UNIT = 100  # weights are kept as whole hundredths
HELD_OUT = 10  # one text in so many is held out to calibrate the probabilities
SCALES = tuple(step / 20 for step in range(1, 21))
DEFAULT_SCALE = 0.2  # where there are too few texts to hold any out


def ngrams(word: str) -> Iterator[str]:
    """All n-grams of 1 to 5 characters of a word with a space at either end; a space alone is not one."""
    bordered = f" {word} "
    for size in range(1, LONGEST_NGRAM + 1):
        for start in range(len(bordered) - size + 1):
            if size > 1 or bordered[start] != " ":
                yield bordered[start : start + size]


def words(text: str) -> list[str]:
    return WORD.findall(unicodedata.normalize("NFKC", text).lower())


@dataclass(frozen=True)
class LanguageIdentifier:
    """The languages of a model, its directions, and the weight of each n-gram for each language."""

    languages: tuple[str, ...] = ()
    directions: tuple[Direction, ...] = ()
    scale: float = 1.0  # of the scores: overlapping n-grams are not independent
    weights: Mapping[str, Sequence[int]] = field(default_factory=dict, repr=False)  # n-gram -> one per language

    @classmethod
    def learn(cls, texts: Mapping[str, Iterable[str]], directions: Iterable[Direction] = ()) -> Self:
        """Learn from texts in each language; some ten thousand sentences each are plenty.

        With one language or none there is nothing to identify, and no n-gram is stored.
        """
        languages, directions = tuple(texts), tuple(directions)
        if len(languages) < 2:
            return cls(languages, directions)
        counts = {language: Counter[str]() for language in languages}
        held_out: list[tuple[str, int]] = []
        for index, language in enumerate(languages):
            for number, text in enumerate(texts[language]):
                if number % HELD_OUT == HELD_OUT - 1:
                    held_out.append((text, index))
                else:
                    counts[language].update(words(text))
        weights = _weights([_ngram_counts(counts[language]) for language in languages])
        raw = cls(languages, directions, 1.0, weights)
        return cls(languages, directions, _best_scale(raw, held_out), weights)

    def detect(self, text: str) -> list[tuple[str, float]]:
        """Every language with its probability, the likeliest first; all equally likely if the text has no letters."""
        scores = self.scale * np.array(self._scores(text))
        powers = np.exp(scores - scores.max(initial=-math.inf))
        probabilities = (powers / powers.sum()).tolist()
        # The sort is stable: equally likely ones keep the order of the model.
        return sorted(zip(self.languages, probabilities, strict=True), key=lambda pair: -pair[1])

    def _scores(self, text: str) -> list[float]:
        sums = [0] * len(self.languages)
        for word in words(text):
            for ngram in ngrams(word):
                for index, weight in enumerate(self.weights.get(ngram, ())):
                    sums[index] += weight
        return [total / UNIT for total in sums]

    def save(self, path: Path) -> None:
        content = {
            "languages": self.languages,
            "directions": self.directions,
            "scale": self.scale,
            "ngrams": self.weights,
        }
        path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", str(path), "check the model directory") from error
        except (ValueError, RecursionError) as error:
            raise UserError(f"invalid JSON: {error}", str(path), "fetch the model again") from error
        if not _well_formed(content):
            raise UserError("not a file of languages", str(path), "fetch the model again")
        directions = tuple((source, target) for source, target in content["directions"])
        return cls(tuple(content["languages"]), directions, content["scale"], content["ngrams"])


def _ngram_counts(word_counts: Counter[str]) -> Counter[str]:
    """Counting each word's n-grams once, times the word's count, is many times faster than text by text."""
    counts = Counter[str]()
    for word, count in word_counts.items():
        for ngram in ngrams(word):
            counts[ngram] += count
    return counts


def _weights(counts: list[Counter[str]]) -> dict[str, list[int]]:
    """log p(n-gram | language), less the mean over the languages, of the most informative n-grams."""
    known = list(dict.fromkeys(ngram for language in counts for ngram in language))
    # Add-one smoothing among the n-grams of each size.
    kinds = Counter(len(ngram) for ngram in known)
    totals = [Counter[int]() for _ in counts]
    for total, language in zip(totals, counts, strict=True):
        for ngram, count in language.items():
            total[len(ngram)] += count

    weights: dict[str, list[int]] = {}
    usefulness: dict[str, float] = {}
    for ngram in known:
        size = len(ngram)
        p = [(language[ngram] + 1) / (of[size] + kinds[size]) for language, of in zip(counts, totals, strict=True)]
        logs = [math.log(one) for one in p]
        mean = sum(logs) / len(logs)
        weights[ngram] = [round(UNIT * (log - mean)) for log in logs]
        usefulness[ngram] = sum(p) * (max(logs) - min(logs))
    count = FILE_BYTES // (10 + 5 * len(counts))
    best = sorted(known, key=lambda ngram: (-usefulness[ngram], ngram))[:count]
    return {ngram: weights[ngram] for ngram in sorted(best)}


def _best_scale(raw: LanguageIdentifier, held_out: list[tuple[str, int]]) -> float:
    """The scale under which held-out texts are likeliest to be what they are.

    Whole sentences are easy; their first words count too, so that the probabilities of short texts are calibrated.
    """
    if not held_out:
        return DEFAULT_SCALE
    beginnings = [(" ".join(text.split()[:count]), index) for text, index in held_out for count in (1, 2, None)]
    scores = np.array([raw._scores(text) for text, _ in beginnings])  # (texts, languages)
    right = np.array([[index] for _, index in beginnings])  # (texts, 1)
    below = scores - np.take_along_axis(scores, right, axis=1)
    # - log of the softmax at the right language, summed over the texts
    return min(SCALES, key=lambda scale: float(np.logaddexp.reduce(scale * below, axis=1).sum()))


def _well_formed(content: Any) -> bool:
    """Whether a file, which may come from anywhere, holds what `save` writes."""
    if not isinstance(content, dict) or content.keys() != {"languages", "directions", "scale", "ngrams"}:
        return False
    languages, directions, scale, weights = (content[name] for name in ("languages", "directions", "scale", "ngrams"))
    return (
        isinstance(languages, list)
        and all(isinstance(language, str) for language in languages)
        and len(set(languages)) == len(languages)
        and isinstance(directions, list)
        and all(isinstance(pair, list) and [side in languages for side in pair] == [True, True] for pair in directions)
        and type(scale) in (int, float)
        and 0 < scale <= 1
        and isinstance(weights, dict)
        and all(_one_each(row, len(languages)) for row in weights.values())
    )


def _one_each(row: Any, count: int) -> bool:
    return isinstance(row, list) and len(row) == count and all(type(weight) is int for weight in row)
