"""Which heads align best: those whose weights most often point from a source word to its known translation.

A translation is known where a word is the same on both sides (a name, a number), and where the pairs themselves show
it: by IBM Model 1, in both directions. Words that occur twice in a sentence are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pellucid.decode.engines.reference import ReferenceEngine
from pellucid.decode.markup.words import (
    Floats,
    find_words,
    source_tokens,
    target_tokens,
    word_of_token,
    word_weights,
)
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.alignment_heads import AlignmentHeads
from pellucid.text.languages import Languages
from pellucid.text.lexicon import Lexicon

Link = tuple[int, int]


class KnownPair(NamedTuple):
    """A pair of texts and the links between their words that are known: (source word, target word)."""

    source: str
    target: str
    links: tuple[Link, ...]


class Weights(NamedTuple):
    """Of one pair: the weights of the words, (layer, head, target word, source word), and the links."""

    words: Floats
    links: tuple[Link, ...]


def known_pairs(pairs: Sequence[tuple[str, str]], learn: bool = True) -> list[KnownPair]:
    """The pairs with known links. With `learn`, translations are learned from the pairs too."""
    certain = set(Lexicon.learn(pairs).words) if learn else set()
    found = [KnownPair(source, target, tuple(_links(source, target, certain))) for source, target in pairs]
    return [pair for pair in found if pair.links]


def _links(source: str, target: str, certain: set[tuple[str, str]]) -> Iterator[Link]:
    sides = [[word.text for word in find_words(text)] for text in (source, target)]
    once = [
        {word: place for place, word in enumerate(side) if counts[word.lower()] == 1 and word[0].isalnum()}
        for side, counts in ((side, Counter(word.lower() for word in side)) for side in sides)
    ]
    for word, place in once[0].items():
        for other, other_place in once[1].items():
            if word == other or (word, other) in certain or (word.lower(), other) in certain:
                yield place, other_place


def weigh(directory: ModelDirectory, pairs: Sequence[KnownPair], direction: Languages) -> list[Weights]:
    """The weights of all heads for pairs in one direction, their targets forced on the model."""
    engine = ReferenceEngine(directory)
    layers = [AlignmentHeads(layer, (0,)).tap for layer in range(directory.config.decoder_layers)]
    tokenizers = directory.tokenizers
    found = []
    for pair in pairs:
        source = tokenizers.encode_source(pair.source, direction[1])
        target = tokenizers.encode_target(pair.target)
        if max(len(source), len(target)) > directory.length_limit:
            continue
        texts = tokenizers.target.decode_batch([target[:end] for end in range(1, len(target))])
        words = find_words(pair.source), find_words(texts[-1])
        before = len(tokenizers.language_tag(direction[1]))
        of_source = word_of_token(source_tokens(tokenizers.source, pair.source, before), words[0])
        of_target = word_of_token(target_tokens(texts), words[1])
        sizes = len(words[1]), len(words[0])
        tokens = engine.cross_attention(source, target, layers)  # (layer, head, target token, source token)
        of_words = [[word_weights(head, of_source, of_target, sizes) for head in layer] for layer in tokens]
        if all(link[1] < sizes[0] for link in pair.links):
            found.append(Weights(np.array(of_words), pair.links))
    return found


def accuracy(weights: Sequence[Weights], heads: AlignmentHeads) -> float:
    """How often the target word that looks most at a source word is its known translation."""
    right = count = 0
    for each in weights:
        mean = each.words[heads.layer, list(heads.heads)].mean(axis=0)  # (target word, source word)
        best = mean.argmax(axis=0)
        right += sum(int(best[source]) == target for source, target in each.links)
        count += len(each.links)
    return right / max(1, count)


def choose(directory: ModelDirectory, weights: Sequence[Weights]) -> tuple[AlignmentHeads, float]:
    """The heads of one layer whose mean aligns best, and its accuracy. Of a layer with many heads, only the first
    heads in the order of their own accuracy are tried."""
    tried = []
    for layer in range(directory.config.decoder_layers):
        for heads in _candidates(directory.config.heads, layer, weights):
            candidate = AlignmentHeads(layer, tuple(sorted(heads)))
            tried.append((accuracy(weights, candidate), -len(heads), -layer, candidate))
    best = max(tried, key=lambda each: each[:3])
    return best[3], best[0]


MOST_COMBINED = 6  # heads; of more, 2 ** heads combinations would be too many


def _candidates(heads: int, layer: int, weights: Sequence[Weights]) -> Iterator[tuple[int, ...]]:
    if heads <= MOST_COMBINED:
        for size in range(1, heads + 1):
            yield from combinations(range(heads), size)
        return
    single = [accuracy(weights, AlignmentHeads(layer, (head,))) for head in range(heads)]
    order = sorted(range(heads), key=lambda head: -single[head])
    yield from (tuple(order[:size]) for size in range(1, heads + 1))
