"""Rows of a batch on several threads: the same gradients as in one piece, and the same bits every time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from pellucid.config import ModelConfig, TrainConfig
from pellucid.nn import Transformer
from pellucid.nn.dropout import dropout_mask
from pellucid.text.batch import Batch
from pellucid.training import loop as loop_module
from pellucid.training import validate as validate_module
from pellucid.training.loop import resume_run, start_run
from pellucid.training.loss.batch_loss import batch_loss
from pellucid.training.run import Run, Settings
from pellucid.training.runtime import device as device_module
from pellucid.training.runtime.device import Device
from pellucid.training.runtime.shards import Shards

CONFIG = ModelConfig(vocabulary=40, d_model=16, heads=2, feed_forward=32, encoder_layers=2, decoder_layers=2, dropout=0)
BATCH = Batch.from_ids(
    [[7, 8, 9, 2], [3, 2], [30, 31, 32, 33, 34, 35, 2], [5, 6, 2], [11, 12, 13, 14, 2]],
    [[9, 8, 2], [4, 5, 6, 7, 2], [39, 2], [20, 21, 22, 23, 24, 25, 26, 2], [2]],
)


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    """What a test sets is not left to the next."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def gradients(model: Transformer, shards: int, seed: int = 1, r_drop: float = 0.0) -> tuple[float, list[Tensor | None]]:
    def loss_of(batch: Batch) -> Tensor:
        return batch_loss(model, batch, 0.1, r_drop)

    return Shards(shards).gradients(loss_of, list(model.parameters()), BATCH, seed, 1 / BATCH.target_tokens)


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("r_drop", [0.0, 5.0])
def test_gradients_are_those_of_backward_over_the_whole_batch(shards: int, r_drop: float) -> None:
    model = Transformer(CONFIG, 1).double()
    whole = batch_loss(model, BATCH, 0.1, r_drop)
    (whole / BATCH.target_tokens).backward()  # type: ignore[no-untyped-call]
    total, made = gradients(model, shards, r_drop=r_drop)
    assert total == pytest.approx(whole.item(), rel=1e-12)
    for parameter, gradient in zip(model.parameters(), made, strict=True):
        assert parameter.grad is not None
        assert gradient is not None
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("every", "count", "rows"), [(5, 2, [1]), (3, 2, [1, 1]), (3, 4, [2]), (2, 4, [1, 1, 1])])
def test_too_few_rows_leave_the_cores_to_the_operations(every: int, count: int, rows: list[int]) -> None:
    device = Device.of(TrainConfig(threads=4, device="cpu"))
    torch.set_num_threads(1)
    seen: list[tuple[int, int]] = []

    def loss_of(batch: Batch) -> Tensor:
        seen.append((len(batch.pairs), torch.get_num_threads()))
        return weight.sum()

    weight = torch.ones(1, requires_grad=True)
    Shards(count, device.all_threads).gradients(loss_of, [weight], BATCH.shard(0, every), 1, 1.0)
    threads = 4 if len(rows) == 1 else 1
    assert seen == [(size, threads) for size in rows]
    assert torch.get_num_threads() == 1


def test_dropout_differs_between_shards() -> None:
    masks = []

    def loss_of(_: Batch) -> Tensor:
        masks.append(dropout_mask(torch.Size([64]), 0.5, torch.float32))
        return weight.sum()

    weight = torch.ones(1, requires_grad=True)
    Shards(2).gradients(loss_of, [weight], BATCH, 1, 1.0)
    assert len(masks) == 2
    assert not torch.equal(*masks)


def test_dropout_is_a_function_of_the_seed() -> None:
    model = Transformer(CONFIG.changed(dropout=0.5), 1).train()
    first, again, other = (gradients(model, 3, seed) for seed in (4, 4, 5))
    assert first[0] == again[0] != other[0]
    for one, two in zip(first[1], again[1], strict=True):
        assert one is not None
        assert two is not None
        assert torch.equal(one, two)


def test_a_part_that_the_loss_does_not_need_has_no_gradient() -> None:
    used, unused = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    _, made = Shards(2).gradients(lambda batch: used.sum() * len(batch.pairs), [used, unused], BATCH, 1, 1.0)
    assert made[0] is not None
    assert made[0].tolist() == [5.0, 5.0]
    assert made[1] is None


def test_an_error_in_a_shard_is_raised() -> None:
    def fails(batch: Batch) -> Tensor:
        raise ValueError(str(len(batch.pairs)))

    with pytest.raises(ValueError, match="3"):
        Shards(2).gradients(fails, [], BATCH, 1, 1.0)


@pytest.mark.parametrize(
    ("threads", "batch_tokens", "norm", "shards", "left"),
    [(2, 4096, "layer", 2, 1), (8, 4096, "rms", 4, 2), (2, 512, "layer", 1, 2), (4, 4096, "batch", 1, 4)],
)
def test_how_many_shards(threads: int, batch_tokens: int, norm: str, shards: int, left: int) -> None:
    device = Device.of(TrainConfig(threads=threads, device="cpu"))
    assert device.shards(batch_tokens, CONFIG.changed(norm=norm)).count == shards
    assert torch.get_num_threads() == left
    with device.all_threads():
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == left


def test_two_threads_give_equal_bytes_at_once_and_resumed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_module, "MIN_SHARD_TOKENS", 64)
    torch.set_num_threads(3)
    settings = replace(settings, train=settings.train.changed(threads=2))
    at_once, again = (start_run(Run(tmp_path / name), settings) for name in ("at_once", "again"))
    shorter = replace(settings, train=settings.train.changed(steps=11))
    later = resume_run(start_run(Run(tmp_path / "later"), shorter), {"steps": 24})
    weights = [(run.model / "model.safetensors").read_bytes() for run in (at_once, again, later)]
    assert weights[0] == weights[1] == weights[2]
    assert torch.get_num_threads() == 3  # as the caller had it


def test_validations_have_all_threads_and_shards_their_part(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_module, "MIN_SHARD_TOKENS", 64)
    seen: dict[str, set[int]] = {"train": set(), "valid": set()}

    def noting(model: Transformer, batch: Batch, *how: float) -> Tensor:
        seen["train" if model.training else "valid"].add(torch.get_num_threads())
        return batch_loss(model, batch, *how)

    monkeypatch.setattr(loop_module, "batch_loss", noting)
    monkeypatch.setattr(validate_module, "batch_loss", noting)
    start_run(Run(tmp_path / "run"), replace(settings, train=settings.train.changed(threads=2)))
    assert seen == {"train": {1}, "valid": {2}}
