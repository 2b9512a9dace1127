"""The whole reference, written out once more with loops over single tokens and heads."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid.config import ModelConfig
from pellucid.model_directory.shapes import weight_shapes
from pellucid.reference import Transformer

Weights = dict[str, np.ndarray]
CONFIG = ModelConfig(vocabulary=11, d_model=8, heads=2, feed_forward=12, encoder_layers=2, decoder_layers=1)


@pytest.fixture
def weights() -> Weights:
    rng = np.random.default_rng(1)
    return {name: rng.normal(size=shape) * 0.5 for name, shape in weight_shapes(CONFIG).items()}


def vector(weights: Weights, name: str, x: np.ndarray) -> np.ndarray:
    """W x + b for one token."""
    return np.array([row @ x for row in weights[f"{name}.weight"]]) + weights[f"{name}.bias"]


def look(
    weights: Weights, name: str, asking: list[np.ndarray], asked: list[np.ndarray], causal: bool
) -> list[np.ndarray]:
    """Multi-head attention, one query and one head at a time."""
    outputs = []
    for place, x in enumerate(asking):
        visible = asked[: place + 1] if causal else asked
        joined = []
        for head in (slice(0, 4), slice(4, 8)):
            query = vector(weights, f"{name}.query", x)[head]
            scores = [query @ vector(weights, f"{name}.key", y)[head] / 2 for y in visible]  # sqrt(4) = 2
            chances = [np.exp(score) / sum(map(np.exp, scores)) for score in scores]
            values = [vector(weights, f"{name}.value", y)[head] for y in visible]
            joined.append(sum(chance * value for chance, value in zip(chances, values, strict=True)))
        outputs.append(vector(weights, f"{name}.output", np.concatenate(joined)))
    return outputs


def add_and_norm(weights: Weights, name: str, x: list[np.ndarray], added: list[np.ndarray]) -> list[np.ndarray]:
    sums = [one + other for one, other in zip(x, added, strict=True)]
    gamma, beta = weights[f"{name}_residual.norm.weight"], weights[f"{name}_residual.norm.bias"]
    return [(total - total.mean()) / np.sqrt(total.var() + 1e-5) * gamma + beta for total in sums]


def think(weights: Weights, name: str, x: list[np.ndarray]) -> list[np.ndarray]:
    wide = [vector(weights, f"{name}.wide", token) for token in x]
    return [vector(weights, f"{name}.narrow", np.maximum(token, 0)) for token in wide]


def embed(weights: Weights, ids: list[int]) -> list[np.ndarray]:
    vectors = []
    for place, token in enumerate(ids):
        angles = [place / 10000 ** (2 * i / 8) for i in range(4)]
        position = np.array([f(angle) for angle in angles for f in (np.sin, np.cos)])
        vectors.append(weights["source_embedding.weight"][token] * np.sqrt(8) + position)
    return vectors


def by_hand(weights: Weights, source: list[int], target_in: list[int]) -> np.ndarray:
    """Logits (target, vocabulary) of one pair, as the paper tells it."""
    x = embed(weights, source)
    for layer in ("encoder.layers.0", "encoder.layers.1"):
        x = add_and_norm(weights, f"{layer}.self_attention", x, look(weights, f"{layer}.self_attention", x, x, False))
        x = add_and_norm(weights, f"{layer}.feed_forward", x, think(weights, f"{layer}.feed_forward", x))
    memory, x, layer = x, embed(weights, target_in), "decoder.layers.0"
    x = add_and_norm(weights, f"{layer}.self_attention", x, look(weights, f"{layer}.self_attention", x, x, True))
    x = add_and_norm(
        weights, f"{layer}.cross_attention", x, look(weights, f"{layer}.cross_attention", x, memory, False)
    )
    x = add_and_norm(weights, f"{layer}.feed_forward", x, think(weights, f"{layer}.feed_forward", x))
    return np.array([weights["source_embedding.weight"] @ token for token in x])


def test_the_model_of_the_paper_token_by_token(weights: Weights) -> None:
    source, target_in = [[3, 5, 4, 9], [7, 8, 0, 0]], [[1, 6, 2], [1, 10, 3]]
    real = [[True] * 4, [True, True, False, False]]
    logits = Transformer(CONFIG, weights).forward(source, real, target_in)
    np.testing.assert_allclose(logits[0], by_hand(weights, source[0], target_in[0]), rtol=1e-9)
    np.testing.assert_allclose(logits[1], by_hand(weights, source[1][:2], target_in[1]), rtol=1e-9)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
def test_step_by_step_is_the_full_pass(positions: str) -> None:
    config = CONFIG.changed(positions=positions, max_length=6, kv_heads=1)
    rng = np.random.default_rng(2)
    model = Transformer(config, {name: rng.normal(size=shape) for name, shape in weight_shapes(config).items()})
    source, target_in = rng.integers(3, 11, (3, 5)), rng.integers(3, 11, (3, 6))
    real = np.arange(5) < np.array([5, 2, 0])[:, None]  # the last source is padding alone
    memory = model.encode(source, real)
    expected = model.decode(target_in, memory, real)
    cache = model.start(memory, real)
    for place in range(6):
        logits, cache = model.step(target_in[:, place, None], cache)
        np.testing.assert_allclose(logits[:, 0], expected[:, place], rtol=1e-9)
    assert np.isfinite(expected).all()
