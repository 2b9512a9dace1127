"""C7, C8, C9: weights by hand, softmax's derivative by autograd, attention without its scale by its formula."""

from __future__ import annotations

import copy
from collections.abc import Callable
from math import exp

import numpy as np
import pytest
import torch

from pellucid.config import ModelConfig
from pellucid.labs import Result
from pellucid.labs import diagonal as diagonal_lab
from pellucid.labs import lookup as lookup_lab
from pellucid.labs import scaling as scaling_lab
from pellucid.labs.networks.random_model import random_model
from pellucid.labs.networks.torch_scale import remove_scale
from pellucid.nn import Transformer
from pellucid.nn.attention import MultiHeadAttention
from pellucid.nn.taps import attach
from pellucid.reference.taps import recording

Quick = Callable[..., Result]


def test_the_weights_of_a_lookup_are_those_of_its_formula() -> None:
    config = lookup_lab.Settings(entries=3, size=4)
    _, weights = lookup_lab.look_up(config, seed=2, scale=5.0)
    keys = np.random.default_rng(2).normal(size=(3, 4))
    unit = [key / np.sqrt((key**2).sum()) for key in keys]
    for row, query in zip(weights, unit, strict=True):
        powers = [exp(5.0 * float(query @ key)) for key in unit]
        np.testing.assert_allclose(row, [power / sum(powers) for power in powers], atol=1e-12)


def test_with_keys_of_no_length_everything_comes_back_as_the_mean() -> None:
    _, weights = lookup_lab.look_up(lookup_lab.Settings(entries=5), seed=1, scale=0.0)
    np.testing.assert_allclose(weights, np.full((5, 5), 0.2))


def test_the_derivative_of_softmax_is_that_of_autograd() -> None:
    scores = torch.tensor([0.3, -1.0, 2.0, 0.5], dtype=torch.float64)
    wanted = torch.autograd.functional.jacobian(lambda x: torch.softmax(x, 0), scores)  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(scaling_lab.derivative(torch.softmax(scores, 0).numpy()), wanted.numpy(), atol=1e-12)


def test_attention_without_its_scale_is_softmax_of_the_bare_products() -> None:
    config = ModelConfig(vocabulary=20, d_model=16, heads=2, feed_forward=16, encoder_layers=1, decoder_layers=1)
    model = Transformer(config, 3).eval()
    remove_scale(model, config.d_head)
    attention = model.encoder.layers[0].self_attention
    assert isinstance(attention, MultiHeadAttention)
    x = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(1))
    original = dict(model.named_parameters())["encoder.layers.0.self_attention.query.parametrizations.weight.original"]
    query, key = (attention._split(x @ weight.T, 2) for weight in (original, attention.key.weight))
    with torch.no_grad(), attach(attention, "weights") as record:
        attention.attend(*attention.queries_keys_values(x, None), None)
    torch.testing.assert_close(record["weights"][0], (query @ key.transpose(-2, -1)).softmax(-1).detach())


def test_the_weights_that_are_trained_are_drawn_alike_with_and_without_the_scale() -> None:
    config = ModelConfig(vocabulary=20, d_model=16, heads=1, feed_forward=16, encoder_layers=1, decoder_layers=1)
    plain, changed = Transformer(config, 3), Transformer(config, 3)
    remove_scale(changed, config.d_head)
    weights = dict(changed.named_parameters())
    for name, weight in plain.named_parameters():
        place, _, last = name.rpartition(".")
        assert torch.equal(
            weight, weights.get(name, weights.get(f"{place}.parametrizations.{last}.original", weight + 1))
        )


def test_own_weights_are_counted_as_loops_count_them() -> None:
    config = ModelConfig(vocabulary=30, d_model=16, heads=2, feed_forward=16, encoder_layers=2, decoder_layers=1)
    model = random_model(config, 1)
    rows = [[5, 6, 7, 8, 9], [10, 11], [12, 13, 14]]
    found = diagonal_lab.count(model, rows)
    wanted = np.zeros_like(found)
    for row in rows:  # each alone, without padding
        record: dict[str, np.ndarray] = {}
        model.encode(np.array([row]), np.ones((1, len(row)), np.bool_), recording(record))
        for layer in range(2):
            for head, weights in enumerate(record[f"encoder.layers.{layer}.self_attention.weights"][0]):
                for at in range(len(row)):
                    wanted[0, layer, head] += weights[at].argmax() == at
                    wanted[1, layer, head] += weights[at, at]
                    wanted[2, layer, head] += 1
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize(("share", "outcome"), [(0.9, "shown"), (0.1, "refuted")])
def test_the_criterion_of_the_diagonal(share: float, outcome: str, quick: Quick) -> None:
    data = copy.deepcopy(quick("diagonal").data)
    data["largest"]["trained"] = [np.full_like(each, share).tolist() for each in data["largest"]["trained"]]
    assert diagonal_lab.decide(data).outcome == outcome
    data["largest"]["trained"] = [[[0.3]], [[0.7]]]  # two seeds that disagree
    assert diagonal_lab.decide(data).outcome == "not decided"
