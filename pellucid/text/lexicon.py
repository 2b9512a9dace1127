"""Which word translates which, learned from the pairs themselves by IBM Model 1 (Brown et al. 1993, section 4.2).

Model 1 gives every word of the target the probability that it translates each word of the source, whatever their
places. It is learned in both directions; a pair of words is certain if both directions are sure of it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
LONGEST = 20  # words of a sentence that is learned from: links in longer ones are less certain, and cost the square
MOST_LINKS = 4_000_000  # candidates for a link, which bounds time (about 10 seconds) and memory (about 300 MB)
ITERATIONS = 5
NULL = 0  # the word that translates to what has no other source


@dataclass(frozen=True)
class Lexicon:
    """The certain words and short phrases of some pairs, most frequent first: (source, target)."""

    words: tuple[tuple[str, str], ...]
    phrases: tuple[tuple[str, str], ...]

    @classmethod
    def learn(cls, texts: Iterable[tuple[str, str]], certain: float = 0.5, least: int = 4, longest: int = 4) -> Lexicon:
        """From pairs of texts. `certain` is the least probability in each direction, `least` how often a pair of words
        must be seen, `longest` the most words of a phrase."""
        sentences = _sentences(texts)
        if not sentences:
            return cls((), ())
        forward = _translation_probabilities(sentences)
        backward = _translation_probabilities([(target, source) for source, target in sentences])
        likely = {pair for pair, p in forward.items() if p >= certain and backward.get(pair[::-1], 0.0) >= certain}
        counts = Counter(
            pair for source, target in sentences for pair in product({*source}, {*target}) if pair in likely
        )
        sure = {pair: count for pair, count in counts.items() if count >= least}
        words = tuple(sorted(sure, key=lambda pair: (-sure[pair], pair)))
        return cls(words, _phrases(sentences, dict(words), least, longest))


def _sentences(texts: Iterable[tuple[str, str]]) -> list[tuple[list[str], list[str]]]:
    """The words of the pairs that are not too long, as many as the bound allows. A first word is written as it is
    within sentences, where it is known from there."""
    found: list[tuple[list[str], list[str]]] = []
    links = 0
    for texts_of_pair in texts:
        source, target = (WORD.findall(text) for text in texts_of_pair)
        if not (1 <= len(source) <= LONGEST and 1 <= len(target) <= LONGEST):
            continue
        links += len(source) * len(target)
        if links > MOST_LINKS:
            break
        found.append((source, target))
    for side in (0, 1):
        within = Counter(word for pair in found for word in pair[side][1:])
        for pair in found:
            first = pair[side][0]
            if within[first.lower()] > within[first]:
                pair[side][0] = first.lower()
    return found


def _translation_probabilities(sentences: Sequence[tuple[list[str], list[str]]]) -> dict[tuple[str, str], float]:
    """(source word, target word) -> the probability of the target word among the translations of the source word, by
    expectation maximisation; only those of at least 0.1."""
    numbers: dict[str, int] = defaultdict(lambda: len(numbers) + 1)  # NULL is 0
    targets: dict[str, int] = defaultdict(lambda: len(targets))
    left, right, places = [], [], []
    place = 0
    for source, target in sentences:
        ids = [NULL, *(numbers[word] for word in source)]
        for word in target:
            left += ids
            right += [targets[word]] * len(ids)
            places += [place] * len(ids)
            place += 1
    size = len(targets)
    keys, entries = np.unique(np.array(left, np.int64) * size + np.array(right, np.int64), return_inverse=True)
    owners = keys // size  # the source word of each entry
    at = np.array(places, np.int64)  # the occurrence of a target word that each candidate belongs to
    table: NDArray[np.float64] = np.ones(len(keys))
    for _ in range(ITERATIONS):
        likely = table[entries]
        likely /= np.bincount(at, likely)[at]
        counts = np.bincount(entries, likely, len(keys))
        table = counts / np.bincount(owners, counts)[owners]
    names, target_names = [*numbers], [*targets]
    return {
        (names[keys[n] // size - 1], target_names[keys[n] % size]): float(table[n])
        for n in np.flatnonzero((table >= 0.1) & (owners != NULL))
    }


def _phrases(
    sentences: Sequence[tuple[list[str], list[str]]], links: dict[str, str], least: int, longest: int
) -> tuple[tuple[str, str], ...]:
    """Runs of two to `longest` words that are linked, each to one word, with a run of the target, and that have hardly
    any other translation."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for source, target in sentences:
        places = {word: place for place, word in enumerate(target)}
        linked = [places.get(links.get(word, ""), -1) for word in source]  # the place of its translation, or -1
        for start in range(len(source)):
            for end in range(start + 2, min(start + longest, len(source)) + 1):
                run = linked[start:end]
                if run[-1] < 0:
                    break
                if min(run) >= 0 and max(run) - min(run) == end - start - 1 == len({*run}) - 1:
                    seen[" ".join(source[start:end])][" ".join(target[min(run) : max(run) + 1])] += 1
    found = {}
    for phrase, translations in seen.items():
        [(translation, count)] = translations.most_common(1)
        if count >= least and count >= 0.7 * translations.total():
            found[phrase, translation] = count
    return tuple(sorted(found, key=lambda pair: (-found[pair], pair)))
