"""Which sentences go through a model together: those of equal length, into the same language.

Without padding, a sentence's numbers do not depend on its mates; a batch of mixed lengths would not keep that promise
in int8 arithmetic, whose scales would change with the padding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pellucid.config import DecodeConfig, ModelConfig
from pellucid.decode.filters import Floats, Ints, only
from pellucid.decode.search import Hypothesis, Sentence, Step, Watch, search
from pellucid.text.target_tokens import TargetTokens

TOKENS = 2048  # of one batch at most


def equal_lengths(lengths: Sequence[tuple[int, ...]], rows: int = 64) -> Iterator[list[int]]:
    """The places of equal lengths together, at most `rows` or TOKENS at a time and about as many in each batch (a
    small one costs a step as much as a large one), the longest first (so that no worker is left alone with them at the
    end)."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, length in enumerate(lengths):
        groups.setdefault(length, []).append(place)
    for length in sorted(groups, reverse=True):
        size = max(1, min(rows, TOKENS // max(1, sum(length))))
        group = groups[length]
        count = math.ceil(len(group) / size)
        yield from (group[first::count] for first in range(count))


def by_language(sentences: Sequence[Sentence], target_tokens: TargetTokens) -> dict[str | None, list[int]]:
    """The places of the sentences for whose targets the tokens of a language are set, and (None) of those that may say
    everything."""
    groups: dict[str | None, list[int]] = {}
    for place, sentence in enumerate(sentences):
        groups.setdefault(target_tokens.language(*sentence), []).append(place)
    return groups


def limited(step: Step, allowed: Ints | None) -> Step:
    """A step after which only the tokens `allowed` may be said; None: all of them."""
    if allowed is None:
        return step

    def limited_step(tokens: Ints, cache: Any) -> tuple[Floats, Any]:
        scores, cache = step(tokens, cache)
        return only(scores, allowed), cache

    return limited_step


def search_in_batches(
    start: Callable[[Ints], Any],
    step: Step,
    sentences: Sequence[Sentence],
    config: DecodeConfig,
    model: ModelConfig,
    target_tokens: TargetTokens,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """Search batch by batch. `start` encodes sources, (rows, length), and gives the cache of the first step."""
    found: list[list[Hypothesis]] = [[] for _ in sentences]
    for language, group in by_language(sentences, target_tokens).items():
        step_of_language = limited(step, target_tokens.allowed(language))
        for chosen in equal_lengths([(len(sentences[place].source),) for place in group]):
            places = [group[each] for each in chosen]
            batch = [sentences[place] for place in places]
            source = np.array([sentence.source for sentence in batch], dtype=np.int64)
            results = search(
                step_of_language, start(source), batch, config, model.max_positions, _placed(watch, places)
            )
            for place, result in zip(places, results, strict=True):
                found[place] = result
    return found


def _placed(watch: Watch | None, places: Sequence[int]) -> Watch | None:
    """A watch that is told the place in the request instead of the row of the batch."""
    return None if watch is None else lambda row, token: watch(places[row], token)
