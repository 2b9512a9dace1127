from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pellucid.nn.norms import EPSILON, BatchNorm, LayerNorm, RMSNorm

TOKENS = arrays(np.float64, (3, 8), elements=st.floats(-100, 100))


@given(TOKENS)
def test_layer_norm_gives_mean_0_and_variance_1(x: np.ndarray) -> None:
    y = LayerNorm(8).double()(torch.from_numpy(x)).detach().numpy()
    variance = x.var(axis=-1)
    np.testing.assert_allclose(y.mean(axis=-1), 0, atol=1e-9)
    np.testing.assert_allclose(y.var(axis=-1), variance / (variance + EPSILON), atol=1e-9)


@given(TOKENS)
def test_rms_norm_gives_mean_square_1(x: np.ndarray) -> None:
    y = RMSNorm(8).double()(torch.from_numpy(x)).detach().numpy()
    square = (x**2).mean(axis=-1)
    np.testing.assert_allclose((y**2).mean(axis=-1), square / (square + EPSILON), atol=1e-9)


@given(TOKENS.filter(lambda x: float(x.std(axis=0).min()) > 0.1))
def test_batch_norm_gives_every_feature_mean_0_and_variance_1(x: np.ndarray) -> None:
    y = BatchNorm(8).double().train()(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(y.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(y.var(axis=0), 1, atol=2e-3)


def padded() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    real = torch.arange(5) < torch.tensor([5, 2, 3])[:, None]
    return torch.randn(3, 5, 8, generator=generator, dtype=torch.float64) * 3 + 1, real


@pytest.mark.parametrize("count_padding", [False, True])
def test_batch_norm_is_torch_over_the_tokens_that_count(count_padding: bool) -> None:
    x, real = padded()
    counted = torch.ones_like(real) if count_padding else real
    mine = BatchNorm(8, count_padding=count_padding).double().train()
    peer = torch.nn.BatchNorm1d(8, eps=EPSILON, momentum=0.1, dtype=torch.float64).train()
    for _ in range(3):
        found, expected = mine(x, real), peer(x[counted])  # (batch, length, size); (tokens, size)
        np.testing.assert_allclose(found[counted].detach(), expected.detach(), atol=1e-12)
        x = x + 1

    # torch's running variance divides by n - 1, ours by n, as the normalisation itself does: after three steps of
    # momentum 0.1 from 1 the gathered parts differ by exactly that factor.
    n, kept = int(counted.sum()), 0.9**3
    assert peer.running_mean is not None
    assert peer.running_var is not None
    np.testing.assert_allclose(mine.running_mean, peer.running_mean, atol=1e-12)
    np.testing.assert_allclose(
        (mine.running_variance - kept) * n / (n - 1), peer.running_var.numpy() - kept, atol=1e-12
    )


def test_batch_norm_at_inference_knows_no_batch() -> None:
    x, real = padded()
    norm = BatchNorm(8).double()
    norm.train()(x, real)
    norm.eval()
    before = norm.running_mean.clone()
    alone = norm(x[1:2], real[1:2])
    np.testing.assert_allclose(alone.detach(), norm(x, real)[1:2].detach(), atol=1e-14)
    assert torch.equal(norm.running_mean, before)


def test_padding_changes_batch_norm_only_where_it_is_counted() -> None:
    x, real = padded()
    changed = torch.where(real[..., None], x, 100.0)
    careful, careless = BatchNorm(8).double().train(), BatchNorm(8, count_padding=True).double().train()
    assert torch.equal(careful(x, real)[real], careful(changed, real)[real])
    assert not torch.allclose(careless(x, real)[real], careless(changed, real)[real])
