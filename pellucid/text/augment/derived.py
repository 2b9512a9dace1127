"""Pairs made beside those that were read: fragments of them, values, and copies of what is no language."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from random import Random

from pellucid.text.augment.values import code, emoji, name, value
from pellucid.text.languages import Direction, known_direction
from pellucid.text.lexicon import Lexicon
from pellucid.text.pair import Pair

DERIVED = ("fragments", "values", "copies")
"""The kinds, which are also the places of these pairs."""
SAMPLE = 100_000  # pairs that the lexicon is learned from
SHARES = {"values": 0.03, "copies": 0.015}  # of the pairs that were read
WORD_COPIES = 2  # times that each single word is there


def derived_pairs(pairs: Iterable[Pair], kinds: Collection[str], seed: int) -> Iterator[Pair]:
    """The pairs of these kinds for each direction whose languages are known."""
    wanted = [kind for kind in DERIVED if kind in kinds]
    if not wanted:
        return
    counts, sampled = _sampled(pairs, seed)
    for languages, texts in sampled.items():
        random = Random(f"{seed} {languages}")
        for kind in wanted:
            for source, target in _made(kind, texts, languages, counts[languages], random):
                yield Pair(source, target, *languages, kind)


def _made(
    kind: str, texts: list[tuple[str, str]], languages: Direction, count: int, random: Random
) -> Iterable[tuple[str, str]]:
    """The pairs of one kind and direction, which has `count` pairs."""
    if kind == "fragments":
        lexicon = Lexicon.learn(texts)
        return chain(*[lexicon.words] * WORD_COPIES, lexicon.phrases)
    times = range(round(SHARES[kind] * count))
    return (value(languages, random) if kind == "values" else _copy(random) for _ in times)


def _sampled(pairs: Iterable[Pair], seed: int) -> tuple[dict[Direction, int], dict[Direction, list[tuple[str, str]]]]:
    """How many pairs each direction has, and a sample of their texts, evenly from all of them."""
    random = Random(seed)
    counts: dict[Direction, int] = {}
    sampled: dict[Direction, list[tuple[str, str]]] = {}
    for pair in pairs:
        languages = known_direction((pair.source_language, pair.target_language))
        if languages is None:
            continue
        seen = counts[languages] = counts.get(languages, 0) + 1
        texts = sampled.setdefault(languages, [])
        if seen <= SAMPLE:
            texts.append(pair[:2])
        elif (place := random.randrange(seen)) < SAMPLE:
            texts[place] = pair[:2]
    for texts in sampled.values():
        random.shuffle(texts)  # the lexicon takes the first ones, as many as it has time for
    return counts, sampled


def _copy(random: Random) -> tuple[str, str]:
    copied = random.choice((code, code, emoji, name))(random)
    return copied, copied
