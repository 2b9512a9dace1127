"""The linear map whose rows are padded, against PyTorch's own in the same precision."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pellucid.nn.mixed_precision import ROW_BLOCK, linear, padded_rows

MIXED = torch.autocast("cpu", torch.bfloat16)


def example(*shape: int, kind: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(*shape, 48, generator=generator).to(kind).requires_grad_()
    weight = torch.randn(32, 48, generator=generator, requires_grad=True)
    return x, weight, torch.randn(32, generator=generator, requires_grad=True)


@pytest.mark.parametrize("shape", [(1,), (ROW_BLOCK,), (ROW_BLOCK + 1,), (7, 5), (3, 50, 2)])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("with_bias", [True, False])
def test_value_and_gradients_are_those_of_torch_under_autocast(
    shape: tuple[int, ...], kind: torch.dtype, with_bias: bool
) -> None:
    x, weight, bias = example(*shape, kind=kind)
    inputs = (x, weight, bias) if with_bias else (x, weight)
    grad = torch.randn(*shape, 32, generator=torch.Generator().manual_seed(2)).bfloat16()
    with MIXED:
        ours = linear(x, weight, bias if with_bias else None)
        theirs = functional.linear(x, weight, bias if with_bias else None)
    assert ours.dtype == theirs.dtype == torch.bfloat16
    torch.testing.assert_close(ours, theirs, rtol=0.02, atol=0.02)
    for mine, other in zip(
        torch.autograd.grad(ours, inputs, grad), torch.autograd.grad(theirs, inputs, grad), strict=True
    ):
        assert mine.dtype == other.dtype
        assert torch.linalg.norm(mine - other) < 0.01 * torch.linalg.norm(other)


def test_columns_of_another_tensor_are_taken_as_they_lie() -> None:
    x, weight, bias = example(6, 4)
    turned = x.detach().transpose(0, 1)
    with MIXED:
        torch.testing.assert_close(linear(turned, weight, bias), linear(turned.contiguous(), weight, bias))


def test_without_mixed_precision_it_is_torchs_own() -> None:
    x, weight, bias = example(5)
    assert torch.equal(linear(x, weight, bias), functional.linear(x, weight, bias))
    doubles = x.double(), weight.double(), bias.double()
    with MIXED:
        assert torch.equal(linear(*doubles), functional.linear(*doubles))


def test_products_of_many_lengths_have_few_shapes() -> None:
    shapes = {
        padded_rows(torch.ones(rows, length, 3), torch.bfloat16).shape
        for rows in range(1, 9)
        for length in range(1, 60)
    }
    assert shapes == {(blocks * ROW_BLOCK, 3) for blocks in range(1, 5)}
    rows = padded_rows(torch.ones(3, 5, 2), torch.bfloat16)
    assert rows.sum() == 3 * 5 * 2  # the padding is zero
    assert padded_rows(torch.ones(3, 5, 2), torch.float32).shape == (15, 2)  # only where kernels are compiled
