"""C18: the counted operations against the arithmetic of the shapes, and verdicts on made-up measurements."""

from __future__ import annotations

import pytest
import torch

from pellucid.labs.cache import (
    SOURCE_LENGTH,
    VOCABULARY,
    cache_numbers,
    cached,
    count_multiply_adds,
    decide,
    uncached,
)
from pellucid.labs.networks.torch_training import small
from pellucid.nn import Transformer

D, HIDDEN = 64, 128  # of `small`
SHAPE = small(VOCABULARY)  # one layer in each stack


def encoder() -> int:
    """Four projections and two layers of feed-forward for each token, and scores and values for each pair."""
    return SOURCE_LENGTH * (4 * D * D + 2 * D * HIDDEN) + SOURCE_LENGTH**2 * 2 * D


def decoder_token(keys: int) -> int:
    """Self-attention over `keys`, cross-attention (its keys and values are counted apart), feed-forward, logits."""
    projections = 4 * D * D + 2 * D * D + 2 * D * HIDDEN + D * VOCABULARY
    return projections + (keys + SOURCE_LENGTH) * 2 * D


MEMORY = SOURCE_LENGTH * 2 * D * D


@pytest.mark.parametrize("length", [1, 2, 5])
def test_the_operations_are_those_of_the_shapes(length: int) -> None:
    model = Transformer(SHAPE, 1).eval()
    with_cache = encoder() + MEMORY + sum(decoder_token(so_far) for so_far in range(1, length + 1))
    # without it, step n reads n tokens, each of which is multiplied with all n keys before the mask takes some away
    without = encoder() + sum(MEMORY + n * decoder_token(n) for n in range(1, length + 1))
    assert count_multiply_adds(cached, model, length) == with_cache
    assert count_multiply_adds(uncached, model, length) == without


def test_the_numbers_of_the_cache_are_those_it_holds() -> None:
    model = Transformer(SHAPE, 1).eval()
    source = torch.full((1, SOURCE_LENGTH), 5)
    real = torch.ones_like(source, dtype=torch.bool)
    cache = model.start(model.encode(source, real), real)
    for _ in range(3):
        _, cache = model.step(torch.tensor([[7]]), cache)
    assert cache_numbers(SHAPE, 3) == sum(each.numel() for pair in [*cache.memory, *cache.past] for each in pair)


def test_the_criterion_on_made_up_measurements() -> None:
    def outcome(difference: float, without: list[int]) -> str:
        counts = {"with the cache": [10, 20], "without the cache": without}
        return decide({"lengths": [4, 8], "differences": [0.0, difference], "multiply_adds": counts}).outcome

    assert outcome(1e-15, [15, 80]) == "shown"
    assert outcome(1e-3, [15, 80]) == "refuted"
    assert outcome(1e-15, [15, 30]) == outcome(1e-15, [90, 80]) == outcome(1e-8, [15, 80]) == "not decided"
