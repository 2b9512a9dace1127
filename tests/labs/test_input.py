"""C5 and C6: neighbours by brute force, order against a permutation written out, sinusoids by trigonometry."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from math import cos, tan

import numpy as np
import pytest
import torch
from torch.nn import functional

from pellucid.config import ModelConfig
from pellucid.labs import Result, committed
from pellucid.labs import embeddings as embeddings_lab
from pellucid.labs import order as order_lab
from pellucid.labs import positions as positions_lab
from pellucid.nn import Transformer
from pellucid.nn.taps import attach
from pellucid.text.tokenizer import END, START

Quick = Callable[..., Result]


def test_the_share_of_neighbours_by_hand() -> None:
    """Three vectors nearly along one axis, two along another; the last of the first group lies with the second."""
    vectors = np.array([[1.0, 0.1], [2.0, 0.1], [0.5, 1.0], [0.0, 1.0], [0.1, 1.0]])
    assert embeddings_lab.share_in_group(vectors, ["a", "a", "a", "b", "b"], 1) == pytest.approx(4 / 5)
    assert embeddings_lab.chance(["a", "a", "a", "b", "b"]) == pytest.approx((3 * 2 + 2 * 1) / (5 * 4))


def test_the_map_keeps_the_distances_that_two_dimensions_can_keep() -> None:
    """Points of a plane within many dimensions lie on the map as they do in the plane."""
    random = np.random.default_rng(1)
    angle = np.linspace(0, 2 * np.pi, 10, endpoint=False)
    plane = np.linalg.qr(random.normal(size=(20, 2)))[0]
    vectors = np.stack([np.cos(angle), np.sin(angle)], 1) @ plane.T
    found = embeddings_lab.flat_map(vectors, ["days"] * 10, list("abcdefghij"))["days"]
    flat = np.array([row[1:] for row in found])
    wanted = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
    np.testing.assert_allclose(np.linalg.norm(flat[:, None] - flat[None], axis=-1), wanted, atol=3e-3)


def test_the_shipped_model_knows_days_and_brothers() -> None:
    near = dict(committed("embeddings").data["neighbours"])
    assert any(day in near["Monday"] for day in ("Tuesday", "Friday", "Sunday", "Montag"))
    assert any(word in near["brother"] for word in ("Bruder", "sister", "brothers"))


def test_products_of_sinusoids_by_trigonometry() -> None:
    """sin a sin b + cos a cos b = cos(a - b): a sum of cosines of the distance."""
    size = order_lab.D_MODEL
    for distance, product in enumerate(committed("order").data["products"]):
        wanted = sum(cos(distance / 10000 ** (2 * pair / size)) for pair in range(size // 2))
        assert product == pytest.approx(wanted, abs=1e-4)


def test_the_criterion_of_order(quick: Quick) -> None:
    data = copy.deepcopy(quick("order").data)
    data["differences"]["rotary"][0] = 0.0
    assert order_lab.decide(data).outcome == "not decided"
    data["differences"]["none"][0] = 2e-12
    assert order_lab.decide(data).outcome == "refuted"


def test_letters_to_copy_are_their_own_translation() -> None:
    batch = positions_lab.copies(5, 3, [1, 2], exactly=True)
    assert batch.source.shape == (3, 6)
    assert (batch.source == batch.target_out).all()
    assert (batch.source[:, -1] == END).all()
    assert (batch.target_in[:, 0] == START).all()
    assert batch.source[:, :-1].min() >= 4


def test_a_model_that_knows_the_answer_has_them_all_right() -> None:
    """A stand-in that repeats its source is always right; one that always predicts the first letter is so by chance."""

    def copying(source: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return functional.one_hot(source, 4 + positions_lab.LETTERS)

    def guessing(source: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return functional.one_hot(torch.full_like(source, 4), 4 + positions_lab.LETTERS)

    assert positions_lab.accuracy(copying, 9, seed=1) == 1.0
    assert positions_lab.accuracy(guessing, 9, seed=1) == pytest.approx(1 / positions_lab.LETTERS, abs=0.05)


@pytest.mark.parametrize(("twice", "outcome"), [(0.95, "shown"), (0.8, "not decided"), (0.6, "refuted")])
def test_the_criterion_of_positions(twice: float, outcome: str, quick: Quick) -> None:
    data = copy.deepcopy(quick("positions").data)
    data["right"]["sinusoidal"] = [[1.0, 1.0, 1.0, twice, 0.1, 0.1]]
    assert positions_lab.decide(data).outcome == outcome


def test_the_tangent_takes_the_place_of_the_sine_alone() -> None:
    model = Transformer(ModelConfig(vocabulary=16, d_model=8, heads=2, feed_forward=8), seed=1)
    positions_lab.use_tangents(model, 30)
    ids, real = torch.full((1, 30), 5), torch.ones((1, 30), dtype=torch.bool)
    with attach(model, "*.input.position") as found, torch.inference_mode():
        model.eval()(ids, real, ids, real)
    for stack in ("encoder", "decoder"):
        position = found[f"{stack}.input.position"][0].numpy()
        for place, pair in itertools.product((0, 1, 2, 29), range(4)):
            angle = place / 10000 ** (2 * pair / 8)
            assert position[place, 2 * pair] == pytest.approx(tan(angle), rel=1e-4)
            assert position[place, 2 * pair + 1] == pytest.approx(cos(angle), abs=1e-6)
