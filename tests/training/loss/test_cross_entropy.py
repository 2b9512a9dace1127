"""The chunked loss against PyTorch's own, the reference's, and numerical gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from pellucid import reference
from pellucid.nn import mixed_precision
from pellucid.training.loss import cross_entropy as cross_entropy_module
from pellucid.training.loss.cross_entropy import OutputLayer, cross_entropy


def example(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(13, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(11, generator=generator, dtype=torch.float64, requires_grad=True)
    return features, weight, bias, torch.randint(11, (13,), generator=generator)


@pytest.mark.parametrize("chunk", [1, 50, 10**6])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("with_bias", [True, False])
def test_value_and_gradients_equal_torch(
    chunk: int, smoothing: float, with_bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_entropy_module, "LOGITS_PER_CHUNK", chunk)
    monkeypatch.setattr(mixed_precision, "ROW_BLOCK", 1)
    features, weight, bias, targets = example()
    inputs = (features, weight, bias) if with_bias else (features, weight)
    logits = features @ weight.T + (bias if with_bias else 0)
    theirs = functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    ours = cross_entropy(features, weight, bias if with_bias else None, targets, smoothing)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    for mine, other in zip(torch.autograd.grad(3 * ours, inputs), torch.autograd.grad(3 * theirs, inputs), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


def test_hand_written_gradient_is_the_numerical_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy_module, "LOGITS_PER_CHUNK", 40)
    monkeypatch.setattr(mixed_precision, "ROW_BLOCK", 1)
    features, weight, bias, targets = example(1)
    assert torch.autograd.gradcheck(lambda f, w, b: cross_entropy(f, w, b, targets, 0.1), (features, weight, bias))


def test_equals_the_reference_where_padding_is_left_out() -> None:
    random = np.random.default_rng(3)
    features, weight = random.normal(size=(2, 5, 6)), random.normal(size=(11, 6))
    targets, real = random.integers(11, size=(2, 5)), np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
    total, count = reference.cross_entropy(features @ weight.T, targets, real, 0.1)
    ours = cross_entropy(
        torch.from_numpy(features[real]), torch.from_numpy(weight), None, torch.from_numpy(targets[real]), 0.1
    )
    assert count == 8
    assert ours.item() == pytest.approx(total, rel=1e-12)


def test_large_logits_do_not_overflow() -> None:
    features, weight = torch.full((2, 4), 100.0), torch.stack([torch.ones(4) * i for i in range(5)])
    assert cross_entropy(features, weight, None, torch.tensor([4, 0])).item() == pytest.approx(1600.0)


@pytest.mark.parametrize("gain", [0.0, 1.0, 2.0])  # with 2 the target has a probability of nearly 1
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_mixed_precision_comes_near_even_where_the_target_is_nearly_certain(
    gain: float, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_entropy_module, "LOGITS_PER_CHUNK", 500 * 128)  # two chunks, the second padded
    generator = torch.Generator().manual_seed(4)
    weight = torch.randn(500, 32, generator=generator) * 0.5
    targets = torch.randint(500, (200,), generator=generator)
    features = gain * weight[targets] + 0.3 * torch.randn(200, 32, generator=generator)
    inputs = features.requires_grad_(), weight.requires_grad_()
    exact = cross_entropy(*inputs, None, targets, smoothing)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = cross_entropy(features.bfloat16(), weight, None, targets, smoothing)
    assert mixed.dtype == torch.float32
    assert mixed.item() != exact.item()  # it is narrower indeed
    assert mixed.item() == pytest.approx(exact.item(), rel=0.02)
    for rough, fine in zip(torch.autograd.grad(mixed, inputs), torch.autograd.grad(exact, inputs), strict=True):
        assert torch.linalg.norm(rough - fine) < 0.04 * torch.linalg.norm(fine)


def test_float64_stays_so_in_mixed_precision() -> None:
    features, weight, bias, targets = example()
    exact = cross_entropy(features, weight, bias, targets, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        assert cross_entropy(features, weight, bias, targets, 0.1).item() == exact.item()


@pytest.mark.parametrize("with_bias", [True, False])
def test_without_gradients_the_value_is_the_same_and_no_gradient_is_computed(
    with_bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, weight, bias, targets = example()
    inputs = features, weight, bias if with_bias else None, targets, 0.1
    expected = cross_entropy(*inputs)

    def refused(*_: object) -> None:
        raise AssertionError("a gradient was computed")

    monkeypatch.setattr(OutputLayer, "backward", refused)
    with torch.no_grad():
        assert cross_entropy(*inputs).item() == expected.item()
    with pytest.raises(AssertionError, match="a gradient was computed"):
        cross_entropy(*inputs)
