"""Which sentences go through a model together: those of equal length, into the same language.

Without padding, a sentence's numbers do not depend on the rest of its batch. With padding they would in int8
arithmetic, whose scales change with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pellucid.config import DecodeConfig
from pellucid.decode.hypotheses import (
    Hypothesis,
    OnToken,
    Sentence,
    StepFunction,
    Stop,
    StoppedError,
    search_tokens,
)
from pellucid.decode.logit_filters import Floats, Ints, restrict
from pellucid.decode.search import search
from pellucid.model_directory.vocabulary_restriction import VocabularyRestriction

TOKENS_PER_BATCH = 2048
SEARCH_TOKENS_PER_BATCH = 16_384  # over all hypotheses: it bounds the memory, and the time until a stop is noticed


def equal_lengths(
    lengths: Sequence[tuple[int, ...]], rows: int = 64, searched: Sequence[int] | None = None
) -> Iterator[list[int]]:
    """The places of equal lengths together, at most `rows`, TOKENS_PER_BATCH or (of the tokens `searched` at each
    place) SEARCH_TOKENS_PER_BATCH at a time. Batches of one length are about equally large, because a small one takes
    as many steps as a large one; the longest come first, so that no worker is left with them at the end."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, length in enumerate(lengths):
        groups.setdefault(length, []).append(place)
    for length in sorted(groups, reverse=True):
        group = groups[length]
        size = min(rows, TOKENS_PER_BATCH // max(1, sum(length)))
        if searched is not None:
            size = min(size, SEARCH_TOKENS_PER_BATCH // max(searched[place] for place in group))
        size = max(1, size)
        count = math.ceil(len(group) / size)
        yield from (group[first::count] for first in range(count))


def by_language(sentences: Sequence[Sentence], restriction: VocabularyRestriction) -> dict[str | None, list[int]]:
    """The places of the sentences by the language whose vocabulary restriction applies to them; None: none does."""
    groups: dict[str | None, list[int]] = {}
    for place, sentence in enumerate(sentences):
        groups.setdefault(restriction.applies(sentence.target_language, sentence.prefix), []).append(place)
    return groups


def restricted(step: StepFunction, allowed: Ints | None) -> StepFunction:
    """A step function after which only the tokens `allowed` are possible; None: all of them."""
    if allowed is None:
        return step

    def restricted_step(tokens: Ints, cache: Any) -> tuple[Floats, Any]:
        scores, cache = step(tokens, cache)
        return restrict(scores, allowed), cache

    return restricted_step


def stoppable(step: StepFunction, stop: Stop | None) -> StepFunction:
    """A step function that asks `stop` before each step."""
    if stop is None:
        return step

    def stoppable_step(tokens: Ints, cache: Any) -> tuple[Floats, Any]:
        if stop():
            raise StoppedError
        return step(tokens, cache)

    return stoppable_step


def search_in_batches(
    start: Callable[[Ints], Any],
    step: StepFunction,
    sentences: Sequence[Sentence],
    config: DecodeConfig,
    restriction: VocabularyRestriction,
    positions: int | None,
    on_token: OnToken | None = None,
) -> list[list[Hypothesis]]:
    """Search batch by batch. `start` encodes sources, (rows, length), and returns the cache of the first step."""
    found: list[list[Hypothesis]] = [[] for _ in sentences]
    for language, group in by_language(sentences, restriction).items():
        language_step = restricted(step, restriction.allowed(language))
        lengths = [(len(sentences[place].source_ids),) for place in group]
        searched = [search_tokens(sentences[place], config, positions) for place in group]
        for chosen in equal_lengths(lengths, searched=searched):
            places = [group[each] for each in chosen]
            batch = [sentences[place] for place in places]
            source = np.array([sentence.source_ids for sentence in batch], dtype=np.int64)
            callback = _for_places(on_token, places)
            results = search(language_step, start(source), batch, config, positions, callback)
            for place, result in zip(places, results, strict=True):
                found[place] = result
    return found


def _for_places(on_token: OnToken | None, places: Sequence[int]) -> OnToken | None:
    """A callback that gets the place in the request instead of the row of the batch."""
    return None if on_token is None else lambda row, token: on_token(places[row], token)
