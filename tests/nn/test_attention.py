"""Attention on every path: explicit, fused, reference, and torch's own module."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis.extra.numpy import arrays
from torch import Tensor
from torch.nn import functional

from pellucid import reference
from pellucid.config import ModelConfig
from pellucid.nn import attention
from pellucid.nn.attention import MultiHeadAttention
from pellucid.nn.masks import causal, padding
from pellucid.nn.mixed_precision import fused_attention

ConfigOf = Callable[..., ModelConfig]


def qkv(query: int = 5, key: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    shapes = ((3, 2, length, 4) for length in (query, key, key))
    q, k, v = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return q, k, v


MASKS = {
    "nothing": None,
    "causal": causal(5),
    "padding": padding(torch.arange(5) < torch.tensor([5, 2, 1])[:, None]),
    "a row of padding alone": padding(torch.arange(5) < torch.tensor([5, 0, 1])[:, None]),
    "causal and padding": causal(5) & padding(torch.arange(5) >= torch.tensor([0, 2, 5])[:, None]),
}


@pytest.mark.parametrize("keep", MASKS.values(), ids=MASKS.keys())
def test_explicit_fused_and_reference_agree(keep: Tensor | None) -> None:
    q, k, v = qkv()
    output, weights = attention(q, k, v, keep)
    expected_output, expected_weights = reference.attention(q, k, v, None if keep is None else keep.numpy())
    np.testing.assert_allclose(weights, expected_weights, atol=1e-14)
    np.testing.assert_allclose(output, expected_output, atol=1e-14)
    np.testing.assert_allclose(fused_attention(q, k, v, keep), expected_output, atol=1e-14)


def test_by_hand() -> None:
    # Two keys with scores log 3 and 0 (after the division by sqrt(4) = 2) weigh 3/4 and 1/4.
    q = torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]], dtype=torch.float64)
    k = torch.tensor([[[[np.log(3.0), 0.0, 0.0, 0.0], [0.0, 9.0, 9.0, 9.0]]]], dtype=torch.float64)
    v = torch.tensor([[[[4.0, 0.0, 1.0, 1.0], [0.0, 8.0, 1.0, -3.0]]]], dtype=torch.float64)
    output, weights = attention(q, k, v)
    np.testing.assert_allclose(weights, [[[[0.75, 0.25]]]], atol=1e-15)
    np.testing.assert_allclose(output, [[[[3.0, 2.0, 1.0, 0.0]]]], atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_query_that_sees_nothing_gets_zeros_and_gradients_stay_finite(dtype: torch.dtype) -> None:
    keep = MASKS["a row of padding alone"]
    assert keep is not None
    for path in (lambda *parts: attention(*parts)[0], fused_attention):
        q, k, v = (part.to(dtype).requires_grad_() for part in qkv())
        output = path(q, k, v, keep)
        assert (output[1] == 0).all()
        assert output.isfinite().all()
        for gradient in torch.autograd.grad(output.sum(), (q, k, v)):
            assert gradient.isfinite().all()
            assert (gradient[1] == 0).all()  # what nobody sees changes nothing
    assert (attention(*qkv(), keep)[1][1] == 0).all()
    assert all((part[1] == 0).all() for part in reference.attention(*qkv(), keep.numpy()))


@given(arrays(np.bool_, (3, 2, 4, 6)))
def test_any_mask(mask: np.ndarray) -> None:
    """Rows that see something sum to 1, the others are zeros, nothing falls on what is hidden, on every path."""
    q, k, v = qkv(query=4, key=6)
    keep = torch.from_numpy(mask)
    output, weights = attention(q, k, v, keep)
    np.testing.assert_allclose(weights.sum(-1), mask.any(-1), atol=1e-14)
    assert (weights[~keep] == 0).all()
    np.testing.assert_allclose(fused_attention(q, k, v, keep), output, atol=1e-14)
    np.testing.assert_allclose(reference.attention(q, k, v, mask)[0], output, atol=1e-14)


@pytest.mark.parametrize("bias", [True, False])
def test_against_torch_multihead_attention(bias: bool, config_of: ConfigOf) -> None:
    torch.manual_seed(2)
    mine = MultiHeadAttention(config_of(bias=bias)).double().eval()
    peer = torch.nn.MultiheadAttention(16, 4, bias=bias, batch_first=True, dtype=torch.float64).eval()
    with torch.no_grad():
        peer.in_proj_weight.copy_(torch.cat([mine.query.weight, mine.key.weight, mine.value.weight]))
        peer.out_proj.weight.copy_(mine.output.weight)
        if bias:
            peer.in_proj_bias.copy_(torch.cat([mine.query.bias, mine.key.bias, mine.value.bias]))
            peer.out_proj.bias.copy_(mine.output.bias)
    x, memory = torch.randn(3, 5, 16, dtype=torch.float64), torch.randn(3, 7, 16, dtype=torch.float64)
    real = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]

    expected, _ = peer(x, x, x, attn_mask=~causal(5)[0, 0], need_weights=False)
    np.testing.assert_allclose(
        mine.attend(*mine.queries_keys_values(x, None), causal(5)).detach(), expected.detach(), atol=1e-12
    )
    expected, _ = peer(x, memory, memory, key_padding_mask=~real, need_weights=False)
    np.testing.assert_allclose(
        mine.attend(mine.queries(x), *mine.keys_values(memory), padding(real)).detach(), expected.detach(), atol=1e-12
    )


def test_groups_of_queries_share_keys_and_values(config_of: ConfigOf) -> None:
    """Two key heads for four query heads are four key heads of which neighbours are equal."""
    torch.manual_seed(3)
    shared = MultiHeadAttention(config_of(kv_heads=2)).double().eval()
    full = MultiHeadAttention(config_of()).double().eval()
    with torch.no_grad():
        for name in ("query", "output"):
            getattr(full, name).load_state_dict(getattr(shared, name).state_dict())
        for name in ("key", "value"):
            for field in ("weight", "bias"):
                heads = getattr(getattr(shared, name), field).unflatten(0, (2, 4))  # (key heads, d_head, ...)
                getattr(getattr(full, name), field).copy_(heads[[0, 0, 1, 1]].flatten(0, 1))
    x = torch.randn(2, 5, 16, dtype=torch.float64)
    np.testing.assert_allclose(
        shared.attend(*shared.queries_keys_values(x, None), causal(5)).detach(),
        full.attend(*full.queries_keys_values(x, None), causal(5)).detach(),
        atol=1e-13,
    )


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("queries", [torch.bfloat16, torch.float32])  # rotated ones are float32 beside narrow values
def test_bfloat16_on_a_cpu_is_attended_to_in_float32(
    mixed: bool, queries: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, seen = functional.scaled_dot_product_attention, []

    def noting(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None) -> Tensor:
        seen.append((q.dtype, k.dtype, v.dtype, torch.is_autocast_enabled("cpu")))
        return kernel(q, k, v, attn_mask=attn_mask)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", noting)
    generator = torch.Generator().manual_seed(5)
    q, k, v = (torch.randn(2, 2, 6, 4, generator=generator).bfloat16() for _ in range(3))
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        ours = fused_attention(q.to(queries), k.to(queries), v)
    assert seen == [(torch.float32, torch.float32, torch.float32, False)]
    assert torch.equal(ours, kernel(q.float(), k.float(), v.float()).bfloat16())
