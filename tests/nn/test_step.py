"""Token by token with the cache is the whole pass at once, also when a search reorders and drops hypotheses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pellucid import reference
from pellucid.config import ModelConfig
from pellucid.nn import Transformer

ConfigOf = Callable[..., ModelConfig]
ModelOf = Callable[..., Transformer]
BatchOf = Callable[[ModelConfig], tuple[Tensor, Tensor, Tensor, Tensor]]

CHOICES: list[dict[str, Any]] = [
    {"positions": "sinusoidal"},
    {"positions": "sinusoidal", "position_layout": "halves", "embedding_norm": True},
    {"positions": "learned", "norm_place": "pre"},
    {"positions": "rotary", "kv_heads": 2},
    {"positions": "rotary", "position_layout": "halves", "kv_heads": 1, "norm_place": "pre", "norm": "rms"},
    {"positions": "none", "norm": "batch", "output_bias": True},
]
choices = pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "-".join(map(str, choice.values())))


@choices
def test_step_by_step_is_the_full_pass(
    choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    config = config_of(**choice)
    model = model_of(config)
    source, source_real, target_in, _ = batch_of(config)
    with torch.no_grad():
        memory = model.encode(source, source_real)
        expected = model.decode(target_in, memory, source_real)
        cache = model.start(memory, source_real)
        for place in range(target_in.shape[1]):
            assert cache.length == place
            logits, cache = model.step(target_in[:, place, None], cache)  # one hypothesis a sentence
            np.testing.assert_allclose(logits[:, 0], expected[:, place], atol=1e-11)


@choices
@pytest.mark.parametrize("engine", ["torch", "reference"])
def test_a_search_reorders_and_drops(
    engine: str, choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    """Beams grow, are shuffled and lose a sentence; at each step the logits are those of the prefixes as they stand."""
    config = config_of(**choice)
    model = model_of(config)
    source, real, _, _ = batch_of(config)
    walker: Any = model
    if engine == "reference":
        walker = reference.Transformer(
            config, {name: value.detach().numpy() for name, value in model.weights().items()}
        )
    rng = np.random.default_rng(1)
    sentences = np.arange(len(source))  # which of the sources are still searched
    prefixes = np.zeros((len(source), 1, 0), np.int64)  # (sentences, beam, so far)
    moves: list[tuple[list[int], int]] = [([0, 1, 2, 3], 3), ([0, 1, 2, 3], 3), ([0, 2, 3], 2), ([2, 0], 4)]
    with torch.no_grad():
        cache = walker.start(walker.encode(source, real), real)
        for rows, beam in [([0, 1, 2, 3], 1), *moves]:
            beams = rng.integers(prefixes.shape[1], size=(len(rows), beam))
            sentences, prefixes = sentences[rows], prefixes[np.array(rows)[:, None], beams]
            cache = cache.select(np.array(rows), beams)
            tokens = rng.integers(3, config.target_tokens, size=prefixes.shape[:2])
            prefixes = np.concatenate([prefixes, tokens[..., None]], axis=-1)
            logits, cache = walker.step(torch.from_numpy(tokens), cache)
            assert cache.memory_keep.shape[0] == len(rows)
            np.testing.assert_allclose(
                logits, full_pass(model, source[sentences], real[sentences], prefixes), rtol=0, atol=1e-10
            )


def full_pass(model: Transformer, source: Tensor, real: Tensor, prefixes: np.ndarray) -> Tensor:
    """Logits of the last token of every prefix: (sentences, beam, vocabulary)."""
    sentences, beam, _ = prefixes.shape
    source, real = source.repeat_interleave(beam, 0), real.repeat_interleave(beam, 0)
    logits: Tensor = model(
        source, real, torch.from_numpy(prefixes).flatten(0, 1)
    )  # (sentences * beam, so far, vocabulary)
    return logits[:, -1].view(sentences, beam, -1)


def test_the_source_side_of_the_cache_is_not_copied_for_the_beam(
    config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    config = config_of()
    model = model_of(config)
    source, real, _, _ = batch_of(config)
    cache = model.start(model.encode(source, real), real)
    wide = cache.select(np.arange(4), np.zeros((4, 5), np.int64))
    for (keys, values), (wide_keys, wide_values) in zip(cache.memory, wide.memory, strict=True):
        assert wide_keys.data_ptr() == keys.data_ptr()
        assert wide_values.data_ptr() == values.data_ptr()
        assert wide_keys.shape == (4, config.key_heads, 6, config.d_head)
