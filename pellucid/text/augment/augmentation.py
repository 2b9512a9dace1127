"""Augmentation: a pair takes other shapes in other epochs, so that a model trained on clean sentences also translates
what people write: without a full stop, in capitals, with a typo, a price, a name, an emoji, a whole paragraph.

Nothing is said on one side that the other does not say. A kind changes both sides alike (numbers, names, insertions,
punctuation, quotes, capitals), or the source alone where only its spelling suffers (case, typos, spaces, sharp_s), or
puts several pairs one after the other (paragraphs). `fragments`, `values` and `copies` are pairs of their own,
made once (see `derived.py`).

What pairs become is a function of the seed, the epoch and all that are changed together, so a resumed training meets
the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pellucid.text.augment.insertions import exchange_names, insert, names
from pellucid.text.augment.noise import NOISE, punctuation, quotes, sharp_s
from pellucid.text.augment.numbers import exchange_numbers
from pellucid.text.bpe_dropout import BpeDropout
from pellucid.text.corpus import Corpus
from pellucid.text.languages import Direction, Languages, known_direction
from pellucid.text.tokenizer import END

# Of these changes a pair takes one at most, each with this chance.
SHARES = {
    "names": 0.10,
    "case": 0.08,
    "paragraphs": 0.08,
    "insertions": 0.06,
    "typos": 0.05,
    "capitals": 0.04,
    "spaces": 0.03,
}
# Of these it takes any, unless it has become capitals.
CHANCES = {"numbers": 0.7, "punctuation": 0.12, "quotes": 0.06, "sharp_s": 0.1}
MOST_SENTENCES = 6  # pairs in one row
NAMES_SAMPLE = 20_000  # pairs that known names are taken from


class Row(NamedTuple):
    """The ids of an example, and the pairs it was made from."""

    source: list[int]
    target: list[int]
    pairs: list[int]


ANY: dict[str, Callable[[str, str, Direction, Random], tuple[str, str]]] = {
    "numbers": exchange_numbers,
    "punctuation": lambda source, target, _, random: punctuation(source, target, random),
    "quotes": lambda source, target, direction, _: quotes(source, target, direction),
    "sharp_s": lambda source, target, *_: (sharp_s(source), target),
}


class Augmentation:
    """The kinds of augmentation of a run, applied to its batches."""

    def __init__(self, corpus: Corpus, kinds: Collection[str], seed: int) -> None:
        self.corpus = corpus
        self.seed = seed
        self.shares = {kind: share for kind, share in SHARES.items() if kind in kinds}
        self.chances = {kind: chance for kind, chance in CHANCES.items() if kind in kinds}
        self.words = _certain_words(corpus)
        self.names = _known_names(corpus) if "names" in kinds else []

    def rows(self, pairs: NDArray[np.integer[Any]], epoch: int, dropout: BpeDropout | None = None) -> list[Row]:
        """The pairs as examples, some of them changed; fewer rows than pairs because of paragraphs."""
        random = Random(f"{self.seed} {epoch} {len(pairs)} {pairs[0]}")
        kinds = random.choices([*self.shares, ""], [*self.shares.values(), 1 - sum(self.shares.values())], k=len(pairs))
        changed: dict[int, tuple[str, str]] = {}
        for pair, kind in zip(pairs.tolist(), kinds, strict=True):
            texts = self.corpus.text(pair)
            other = self._changed(kind, texts, self.corpus.languages(pair), random)
            if other != texts:
                changed[pair] = other
        anew = self._encoded(changed, epoch, dropout)
        sentences: list[Row] = []
        parts: list[Row] = []
        for pair, kind in zip(pairs.tolist(), kinds, strict=True):
            row = anew.get(pair) or self._stored(pair, epoch, dropout)
            (parts if kind == "paragraphs" else sentences).append(row)
        return sentences + self._paragraphs(parts, random)

    def _stored(self, pair: int, epoch: int, dropout: BpeDropout | None) -> Row:
        """A pair as it is."""
        return Row(self.corpus.source_ids(pair, dropout, epoch), self.corpus.target_ids(pair, dropout, epoch), [pair])

    def _changed(self, kind: str, texts: tuple[str, str], languages: Languages, random: Random) -> tuple[str, str]:
        """The texts of a pair after a change of this kind, and perhaps others. A pair whose languages are unknown, or
        no languages (report, summary), stays as it is."""
        direction = known_direction(languages)
        if direction is None:
            return texts
        source, target = texts
        if kind == "capitals":
            return source.upper(), target.upper()
        if kind == "names":
            source, target = exchange_names(source, target, self.names, random)
        for other, chance in self.chances.items():
            if random.random() < chance:
                source, target = ANY[other](source, target, direction, random)
        if kind == "insertions":
            source, target = insert(source, target, direction, self.words[direction], random)
        elif kind in NOISE:
            source = NOISE[kind](source, random)
        return source, target

    def _encoded(self, changed: dict[int, tuple[str, str]], epoch: int, dropout: BpeDropout | None) -> dict[int, Row]:
        """The changed pairs as examples. One that is empty now, or too long, is left out: it stays as it was."""
        tokenizers, languages, longest = self.corpus.tokenizers, self.corpus.languages, self.corpus.longest
        if dropout is None:
            sources = tokenizers.source.encode_batch([source for source, _ in changed.values()])
            targets = tokenizers.target.encode_batch([target for _, target in changed.values()])
        else:
            sources = [dropout.source(source, epoch, pair) for pair, (source, _) in changed.items()]
            targets = [dropout.target(target, epoch, pair) for pair, (_, target) in changed.items()]
        rows = {}
        for pair, source, target in zip(changed, sources, targets, strict=True):
            row = Row([*tokenizers.language_tag(languages(pair)[1]), *source, END], [*target, END], [pair])
            if source and target and max(len(row.source), len(row.target)) <= longest:
                rows[pair] = row
        return rows

    def _paragraphs(self, rows: list[Row], random: Random) -> list[Row]:
        """Two to six rows of the same languages after one another in one. Each text begins with a space, so the ids of
        a paragraph are those of its sentences."""
        by_direction: dict[Languages, list[Row]] = defaultdict(list)
        for row in rows:
            by_direction[self.corpus.languages(row.pairs[0])].append(row)
        made = []
        for languages, alike in by_direction.items():
            head = len(self.corpus.tokenizers.language_tag(languages[1]))
            remaining = iter(alike)
            for row in remaining:
                for more in islice(remaining, random.randint(1, MOST_SENTENCES - 1)):
                    longer = Row(
                        row.source[:-1] + more.source[head:], row.target[:-1] + more.target, row.pairs + more.pairs
                    )
                    if max(len(longer.source), len(longer.target)) > self.corpus.longest:
                        made.append(row)
                        longer = more
                    row = longer
                made.append(row)
        return made


def _certain_words(corpus: Corpus) -> dict[Direction, dict[str, str]]:
    """For each direction, the single words among its fragments with their translations."""
    words: dict[Direction, dict[str, str]] = defaultdict(dict)
    for pair in corpus.pairs_from({"fragments"}).tolist():
        (source, target), direction = corpus.text(pair), known_direction(corpus.languages(pair))
        if direction and not (" " in source or " " in target):
            words[direction].setdefault(source, target)
    return words


def _known_names(corpus: Corpus) -> list[str]:
    """The names in a sample of the pairs."""
    rows = np.linspace(0, corpus.stored - 1, min(NAMES_SAMPLE, corpus.stored)).astype(int).tolist()
    return sorted({name for row in rows for name in names(*corpus.text(row))})
