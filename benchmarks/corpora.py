"""The texts that are trained on and translated: corpora from --data, else generated text of the same shape.

A generated corpus has the number of lines, the lengths and the number of different words of the real one, its words as
unevenly frequent as those of a language; the target is the source word by word, so that there is something to learn.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pellucid.errors import UserError

SYLLABLES = [first + vowel for first in "bdfgklmnprstvwz" for vowel in "aeiou"]


@dataclass(frozen=True)
class Shape:
    """Of a corpus: where it lies in a folder of corpora, and what is imitated without that folder."""

    files: str
    lines: int
    words: float  # of a source line, as median, without its full stop
    spread: float  # standard deviation of the logarithm of that
    source_types: int  # different words
    target_types: int
    target_length: float  # words of the target for each of the source


MULTI30K = Shape("multi30k-tok/train", 29_000, 11.4, 0.30, 10_200, 18_700, 0.95)
EUROPARL = Shape("europarl-en-de/sample60k", 60_000, 20.5, 0.59, 53_800, 93_600, 0.93)
TATOEBA = Shape("tatoeba-en-de/train", 179_000, 5.1, 0.41, 37_000, 64_500, 1.0)

Lines = tuple[list[str], list[str]]


def multi30k(data: Path | None, pairs: int | None = None) -> Lines:
    """Captions, tokenised and lower-cased: short sentences, few words."""
    return lines(MULTI30K, data, pairs)


def europarl(data: Path | None, pairs: int | None = None) -> Lines:
    """Speeches: long sentences, many words."""
    return lines(EUROPARL, data, pairs)


def tatoeba(data: Path | None, pairs: int | None = None) -> Lines:
    """Everyday sentences, very short."""
    return lines(TATOEBA, data, pairs)


def lines(shape: Shape, data: Path | None, pairs: int | None = None) -> Lines:
    """Source and target lines: the first `pairs` of a corpus, or all."""
    if data is None:
        return generate(shape, pairs or shape.lines)
    source, target = (_read(data / f"{shape.files}.{language}.gz", pairs) for language in ("en", "de"))
    return source, target


def _read(path: Path, count: int | None) -> list[str]:
    if not path.exists():
        raise UserError("is not there", str(path), "give another --data, or none for generated text")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for _, line in zip(range(count if count is not None else 2**62), file, strict=False)]


def generate(shape: Shape, pairs: int, seed: int = 1) -> Lines:
    """Lines of made-up words; equal seeds give equal lines."""
    random = np.random.default_rng(seed)
    source_words, target_words = _words(random, shape.source_types, 3), _words(random, shape.target_types, 4)
    lengths = np.exp(random.normal(np.log(shape.words), shape.spread, pairs)).round().clip(1, 80).astype(np.int64)
    chosen = np.minimum(_zipf(random, int(lengths.sum()), shape.source_types), shape.source_types - 1)
    # A source word has some forms in the target, as words have that are inflected.
    forms = shape.target_types / shape.source_types
    translated = ((chosen + random.random(len(chosen))) * forms).astype(np.int64)
    dropped = random.random(len(chosen)) >= shape.target_length  # the target may have fewer words
    sources, targets = [], []
    end = 0
    for length in lengths:
        start, end = end, end + int(length)
        sources.append(" ".join(source_words[word] for word in chosen[start:end]) + " .")
        kept = [word for word, gone in zip(translated[start:end], dropped[start:end], strict=True) if not gone]
        targets.append(" ".join(target_words[word] for word in kept or translated[start : start + 1]) + " .")
    return sources, targets


def _words(random: np.random.Generator, count: int, syllables: int) -> list[str]:
    """So many different words; the frequent ones, which come first, are short."""
    words: dict[str, None] = {}
    while len(words) < count:
        most = 1 + (len(words) > 50) + (len(words) > 1000) * (syllables - 2)
        drawn = random.integers(0, len(SYLLABLES), int(random.integers(1, most + 1)) + (len(words) > 50))
        words["".join(SYLLABLES[number] for number in drawn)] = None
    return list(words)


def _zipf(random: np.random.Generator, count: int, types: int) -> NDArray[np.int64]:
    """Word numbers from 0, number n with a chance in proportion to 1 / (n + 2)."""
    shares = 1 / (np.arange(types) + 2)
    return np.searchsorted(np.cumsum(shares) / shares.sum(), random.random(count)).astype(np.int64)
