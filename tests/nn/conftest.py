"""Small models with nothing left at a value that hides mistakes, and batches with padding and an empty row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from pellucid.config import ModelConfig
from pellucid.nn import Transformer
from pellucid.nn.norms import BatchNorm

BatchOf = Callable[[ModelConfig], tuple[Tensor, Tensor, Tensor, Tensor]]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """These models are too small to share out, and the order of sums stays the same."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def config_of() -> Callable[..., ModelConfig]:
    """A model small enough to try thousands of, with some fields changed."""

    def make(**values: Any) -> ModelConfig:
        sides = "source_vocabulary" in values or "target_vocabulary" in values
        small = {"d_model": 16, "heads": 4, "feed_forward": 24, "encoder_layers": 2, "decoder_layers": 2}
        return ModelConfig(**{**small, "dropout": 0.0, "vocabulary": None if sides else 19, **values})

    return make


@pytest.fixture(scope="session")
def batch_of() -> BatchOf:
    """source, source_real, target_in, target_real: rows of several lengths, one source of padding alone."""

    def make(config: ModelConfig) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        generator = torch.Generator().manual_seed(7)
        source = torch.randint(3, config.source_tokens, (4, 6), generator=generator)
        target = torch.randint(3, config.target_tokens, (4, 5), generator=generator)
        source_real = torch.arange(6) < torch.tensor([6, 3, 0, 1])[:, None]
        target_real = torch.arange(5) < torch.tensor([2, 5, 4, 1])[:, None]
        return source * source_real, source_real, target * target_real, target_real

    return make


@pytest.fixture(scope="session")
def model_of(batch_of: BatchOf) -> Callable[..., Transformer]:
    """A model in `eval` with random biases and norms too; batch norm has the statistics of `batch_of`."""

    def make(config: ModelConfig, dtype: torch.dtype = torch.float64) -> Transformer:
        model = Transformer(config).to(dtype)
        generator = torch.Generator().manual_seed(11)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
            if config.norm == "batch":
                _gather_statistics(model, batch_of(config))
        return model.eval()

    return make


def _gather_statistics(model: Transformer, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    """Running statistics as after training; fresh ones let the values of a deep model explode."""
    norms = [module for module in model.modules() if isinstance(module, BatchNorm)]
    for norm in norms:
        norm.momentum = 1.0
    model.train()(*batch)
    for norm in norms:
        norm.momentum = 0.1
