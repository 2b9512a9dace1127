"""Who sees what, shown by changing one token and looking at what changes with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pellucid.config import ModelConfig
from pellucid.nn import Transformer

ConfigOf = Callable[..., ModelConfig]
ModelOf = Callable[..., Transformer]
BatchOf = Callable[[ModelConfig], tuple[Tensor, Tensor, Tensor, Tensor]]

CHOICES: list[dict[str, Any]] = [
    {"positions": positions, "norm": norm, "norm_place": place}
    for positions in ("sinusoidal", "learned", "rotary", "none")
    for norm, place in (("layer", "post"), ("rms", "pre"), ("batch", "pre"))
]
choices = pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "-".join(choice.values()))


@choices
def test_a_target_token_changes_itself_and_what_comes_after(
    choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    config = config_of(**choice)
    model = model_of(config)
    source, real, target_in, _ = batch_of(config)
    before = model(source, real, target_in)
    for place in range(target_in.shape[1]):
        changed = target_in.clone()
        changed[:, place] = (changed[:, place] + 1) % config.target_tokens
        after = model(source, real, changed)
        np.testing.assert_allclose(after[:, :place].detach(), before[:, :place].detach(), atol=1e-12)
        assert ((after[:, place:] - before[:, place:]).abs().amax(-1) > 1e-6).all()


@choices
def test_a_padded_source_token_changes_nothing(
    choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    config = config_of(**choice)
    model = model_of(config)
    source, real, target_in, _ = batch_of(config)
    changed = torch.where(real, source, 5)
    np.testing.assert_allclose(
        model.encode(changed, real)[real].detach(), model.encode(source, real)[real].detach(), atol=1e-12
    )
    np.testing.assert_allclose(
        model(changed, real, target_in).detach(), model(source, real, target_in).detach(), atol=1e-12
    )
    longer, longer_real = torch.nn.functional.pad(source, (0, 3), value=7), torch.nn.functional.pad(real, (0, 3))
    np.testing.assert_allclose(
        model(longer, longer_real, target_in).detach(), model(source, real, target_in).detach(), atol=1e-12
    )


@choices
def test_a_real_source_token_changes_every_output(
    choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    config = config_of(**choice)
    model = model_of(config)
    source, real, target_in, _ = batch_of(config)
    changed = source.clone()
    changed[:, 0] = (changed[:, 0] + 1) % config.source_tokens
    difference = (model(changed, real, target_in) - model(source, real, target_in)).abs().amax(-1)  # (batch, target)
    some = real.any(-1)
    assert (difference[some] > 1e-6).all()
    assert (difference[~some] == 0).all()  # a source of padding alone says nothing, whatever its ids


@choices
def test_other_sentences_of_the_batch_change_nothing(
    choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    config = config_of(**choice)
    model = model_of(config)
    source, real, target_in, _ = batch_of(config)
    together = model(source, real, target_in)
    for row in range(len(source)):
        alone = model(source[row : row + 1], real[row : row + 1], target_in[row : row + 1])
        np.testing.assert_allclose(alone[0].detach(), together[row].detach(), atol=1e-12)


@choices
def test_order_matters_with_positions_and_not_without(
    choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf
) -> None:
    """Without positions the encoder permutes with its input, and the decoder does not notice."""
    config = config_of(**choice)
    model = model_of(config)
    source, order = torch.tensor([[3, 4, 5, 6, 7]]), torch.tensor([4, 2, 0, 1, 3])
    real, target_in = torch.ones_like(source, dtype=torch.bool), torch.tensor([[1, 8, 9]])
    moved = (model.encode(source[:, order], real) - model.encode(source, real)[:, order]).abs().max()
    heard = (model(source[:, order], real, target_in) - model(source, real, target_in)).abs().max()
    if choice["positions"] == "none":
        assert moved < 1e-12
        assert heard < 1e-12
    else:
        assert moved > 1e-3
        assert heard > 1e-3


def test_rotary_positions_see_distance_alone(config_of: ConfigOf, model_of: ModelOf) -> None:
    """Padding in front moves every token alike: with rotary positions the encoder gives the same vectors."""
    source, real = torch.tensor([[3, 4, 5, 6]]), torch.ones(1, 4, dtype=torch.bool)
    later, later_real = torch.nn.functional.pad(source, (3, 0)), torch.nn.functional.pad(real, (3, 0))
    for positions, alike in (("rotary", True), ("sinusoidal", False), ("learned", False)):
        model = model_of(config_of(positions=positions))
        difference = (model.encode(later, later_real)[:, 3:] - model.encode(source, real)).abs().max()
        assert (difference < 1e-12) == alike
