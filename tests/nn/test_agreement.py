"""The fast model is the reference: every pair of choices here, the full product with `make proofs`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
import torch
from torch import Tensor

from pellucid import reference
from pellucid.config import ModelConfig
from pellucid.model_directory.shapes import weight_shapes
from pellucid.nn import Transformer
from tests.choices import DECISIONS, covering_rows, merged, pairs_of

ConfigOf = Callable[..., ModelConfig]
ModelOf = Callable[..., Transformer]
BatchOf = Callable[[ModelConfig], tuple[Tensor, Tensor, Tensor, Tensor]]


def far(found: Tensor, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest value. NaN if there is one."""
    return float(np.abs(found.detach().numpy().astype(np.float64) - expected).max() / np.abs(expected).max())


def check(config: ModelConfig, model_of: ModelOf, batch_of: BatchOf) -> None:
    source, source_real, target_in, target_real = batch_of(config)
    model = model_of(config)
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
        model.to(dtype)
        oracle = reference.Transformer(
            config, {name: value.detach().numpy() for name, value in model.weights().items()}
        )
        memory = model.encode(source, source_real)
        expected = oracle.encode(source.numpy(), source_real.numpy())
        assert far(memory, expected) < tolerance
        logits = model.decode(target_in, memory, source_real, target_real)
        assert far(logits, oracle.decode(target_in.numpy(), expected, source_real.numpy())) < tolerance


@pytest.mark.parametrize("row", covering_rows(), ids=lambda row: "".join(map(str, row)))
def test_every_pair_of_choices(row: tuple[int, ...], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf) -> None:
    check(config_of(**merged(row)), model_of, batch_of)


@pytest.mark.proof
@pytest.mark.parametrize("first", list(product(*(range(len(decision)) for decision in DECISIONS[:3]))))
def test_every_choice_with_every_other(
    first: tuple[int, ...], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    for rest in product(*(range(len(decision)) for decision in DECISIONS[3:])):
        check(config_of(**merged(first + rest), encoder_layers=1, decoder_layers=1), model_of, batch_of)


def test_the_rows_cover_every_pair() -> None:
    met = {pair for row in covering_rows() for pair in pairs_of(row)}
    sizes = [len(decision) for decision in DECISIONS]
    assert len(met) == sum(a * b for a, b in combinations(sizes, 2))


@pytest.mark.parametrize("row", covering_rows(), ids=lambda row: "".join(map(str, row)))
def test_weights_have_the_names_and_shapes_of_the_table(row: tuple[int, ...], config_of: ConfigOf) -> None:
    config = config_of(**merged(row))
    found = {name: tuple(value.shape) for name, value in Transformer(config).weights().items()}
    assert found == weight_shapes(config)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_of_the_reference_is_that_of_torch(smoothing: float) -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(3, 4, 9, generator=generator, dtype=torch.float64)
    targets = torch.randint(9, (3, 4), generator=generator)
    real = torch.arange(4) < torch.tensor([4, 2, 1])[:, None]
    expected = torch.nn.functional.cross_entropy(
        logits[real], targets[real], reduction="sum", label_smoothing=smoothing
    )
    total, count = reference.cross_entropy(logits.numpy(), targets.numpy(), real.numpy(), smoothing)
    assert total == pytest.approx(float(expected), rel=1e-12)
    assert count == 7
