from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from pellucid.config import ModelConfig
from pellucid.nn import Transformer
from pellucid.nn.dropout import Dropout, dropout, dropout_mask, seeded

ConfigOf = Callable[..., ModelConfig]
BatchOf = Callable[[ModelConfig], tuple[Tensor, Tensor, Tensor, Tensor]]


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.95])
def test_the_share_dropped_and_the_expectation(probability: float) -> None:
    torch.manual_seed(1)
    mask = dropout_mask(torch.Size((1000, 1000)), probability, torch.float64)
    exact = round(probability * 256) / 256
    dropped = float((mask == 0).double().mean())
    assert abs(dropped - exact) < 5 * (exact * (1 - exact)) ** 0.5 / 1000  # five standard errors of a million draws
    assert set(mask.flatten().tolist()) == {0, 1 / (1 - exact)}
    assert abs(float(mask.mean()) - 1) < 5 * (exact / (1 - exact)) ** 0.5 / 1000


def test_elements_are_dropped_independently() -> None:
    torch.manual_seed(2)
    kept = (dropout_mask(torch.Size((1000, 1000)), 0.5, torch.float64) > 0).double() - 0.5
    for other in (kept.roll(1, 0), kept.roll(1, 1), kept.roll(8, 1)):
        assert abs(float((kept * other).mean())) < 5 * 0.25 / 1000


@pytest.mark.parametrize("shape", [(1,), (7,), (8,), (3, 5, 7)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    assert dropout_mask(torch.Size(shape), 0.2, torch.float32).shape == shape


def test_the_seed_of_torch_governs_it() -> None:
    x = torch.ones(50, 50)

    def draw(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return torch.stack([dropout(x, 0.3), dropout(x, 0.3)])

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))
    assert not torch.equal(*draw(1))  # each call draws afresh


def test_threads_side_by_side_draw_what_each_was_seeded_with() -> None:
    x = torch.ones(50, 50)

    def draw(seed: int) -> Tensor:
        with seeded(seed):
            return torch.stack([dropout(x, 0.3) for _ in range(20)])

    alone = [draw(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(draw, range(8)))
    assert all(torch.equal(one, other) for one, other in zip(alone, together, strict=True))
    assert not torch.equal(alone[0], alone[1])
    assert not torch.equal(alone[0][0], alone[0][1])  # each call draws afresh


def test_the_gradient_flows_through_what_is_kept() -> None:
    torch.manual_seed(3)
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)

    def same_draw(value: Tensor) -> Tensor:
        torch.manual_seed(4)
        return dropout(value, 0.4)

    assert torch.autograd.gradcheck(same_draw, (x,))


def test_off_in_eval() -> None:
    x, module = torch.randn(9, 9), Dropout(0.5)
    assert torch.equal(module.eval()(x), x)
    assert not torch.equal(module.train()(x), x)
    assert torch.equal(Dropout(0.0).train()(x), x)


@pytest.mark.parametrize("kind", ["dropout", "attention_dropout", "activation_dropout"])
def test_each_kind_acts_in_training_alone(kind: str, config_of: ConfigOf, batch_of: BatchOf) -> None:
    config = config_of(**{kind: 0.5})
    model, without = Transformer(config), Transformer(config_of())
    batch = batch_of(config)
    assert torch.allclose(model.eval()(*batch), without.eval()(*batch), atol=1e-6)
    torch.manual_seed(5)
    first, second = model.train()(*batch), model(*batch)
    assert first.isfinite().all()
    assert not torch.allclose(first, second)
    torch.manual_seed(5)
    assert torch.equal(model(*batch), first)
