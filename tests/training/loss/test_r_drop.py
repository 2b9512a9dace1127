"""R-Drop against the same formula in PyTorch's own functions, and in a model with and without dropout."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pellucid.config import ModelConfig
from pellucid.nn import Transformer, mixed_precision
from pellucid.nn.dropout import seeded
from pellucid.text.batch import Batch
from pellucid.training.loss import r_drop as r_drop_module
from pellucid.training.loss.batch_loss import batch_loss
from pellucid.training.loss.r_drop import r_drop_cross_entropy

BATCH = Batch.from_ids([[4, 5, 6, 2], [7, 2], [8, 9, 2]], [[9, 8, 2], [4, 5, 6, 7, 2], [3, 2]])
CONFIG = ModelConfig(vocabulary=11, d_model=8, heads=2, feed_forward=16, encoder_layers=1, decoder_layers=1)


def example() -> tuple[list[Tensor], Tensor]:
    """Features of two passes, weight and bias; targets."""
    generator = torch.Generator().manual_seed(2)
    shapes = [(13, 6), (13, 6), (11, 6), (11,)]
    inputs = [torch.randn(s, generator=generator, dtype=torch.float64, requires_grad=True) for s in shapes]
    return inputs, torch.randint(11, (13,), generator=generator)


def written_out(z: Tensor, y: Tensor, targets: Tensor, smoothing: float, r_drop: float) -> Tensor:
    """Logits of both passes (tokens, vocabulary) -> the loss."""
    losses = [functional.cross_entropy(x, targets, reduction="sum", label_smoothing=smoothing) for x in (z, y)]
    p, q = z.log_softmax(-1), y.log_softmax(-1)
    forth, back = (functional.kl_div(b, a, log_target=True, reduction="sum") for a, b in ((p, q), (q, p)))
    return (losses[0] + losses[1]) / 2 + r_drop / 4 * (forth + back)


@pytest.mark.parametrize("chunk", [1, 50, 10**6])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("with_bias", [True, False])
def test_value_and_gradients_are_those_of_the_formula_in_torch(
    chunk: int, smoothing: float, with_bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(r_drop_module, "LOGITS_PER_CHUNK", chunk)
    monkeypatch.setattr(mixed_precision, "ROW_BLOCK", 1)
    inputs, targets = example()
    first, second, weight, bias = inputs
    inputs = inputs if with_bias else inputs[:3]
    z, y = (features @ weight.T + (bias if with_bias else 0) for features in (first, second))
    theirs = written_out(z, y, targets, smoothing, 5.0)
    both = torch.cat([first, second])
    ours = r_drop_cross_entropy(both, weight, bias if with_bias else None, targets, smoothing, 5.0)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    for mine, other in zip(torch.autograd.grad(3 * ours, inputs), torch.autograd.grad(3 * theirs, inputs), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


def test_where_nothing_is_dropped_both_passes_agree() -> None:
    model = Transformer(CONFIG.changed(dropout=0.0)).double().train()
    plain, twice = batch_loss(model, BATCH, 0.1), batch_loss(model, BATCH, 0.1, 5.0)
    assert twice.item() == pytest.approx(plain.item(), rel=1e-12)
    parameters = list(model.parameters())
    for once, both in zip(torch.autograd.grad(plain, parameters), torch.autograd.grad(twice, parameters), strict=True):
        torch.testing.assert_close(both, once, rtol=1e-9, atol=1e-12)


def test_passes_that_drop_other_parts_pay_for_it() -> None:
    model = Transformer(CONFIG.changed(dropout=0.5)).double().train()

    def loss(r_drop: float) -> float:
        with seeded(1):
            return batch_loss(model, BATCH, 0.1, r_drop).item()

    less, more, most = loss(1e-9), loss(1.0), loss(2.0)
    assert less < more < most
    assert most - less == pytest.approx(2 * (more - less), rel=1e-6)


def test_mixed_precision_comes_near() -> None:
    inputs, targets = example()
    first, second, weight, bias = (value.float() for value in inputs)
    both = torch.cat([first, second])
    exact = r_drop_cross_entropy(both, weight, bias, targets, 0.1, 5.0)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = r_drop_cross_entropy(both.bfloat16(), weight, bias, targets, 0.1, 5.0)
    assert mixed.dtype == torch.float32
    assert mixed.item() == pytest.approx(exact.item(), rel=0.02)
    assert mixed.item() != exact.item()
    for rough, fine in zip(torch.autograd.grad(mixed, inputs), torch.autograd.grad(exact, inputs), strict=True):
        assert torch.linalg.norm(rough - fine) < 0.05 * torch.linalg.norm(fine)
