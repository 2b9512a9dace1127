"""Seeds, files, counts and bad input of the whole model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from pellucid import reference
from pellucid.config import ModelConfig
from pellucid.errors import UserError
from pellucid.nn import Transformer
from pellucid.nn.initialise import initialise

ConfigOf = Callable[..., ModelConfig]
ModelOf = Callable[..., Transformer]
BatchOf = Callable[[ModelConfig], tuple[Tensor, Tensor, Tensor, Tensor]]


def equal(one: Transformer, other: Transformer) -> bool:
    weights, others = one.weights(), other.weights()
    return weights.keys() == others.keys() and all(torch.equal(weights[name], others[name]) for name in weights)


def test_one_seed_gives_equal_models(config_of: ConfigOf) -> None:
    torch.manual_seed(1)
    first = Transformer(config_of(positions="learned"), seed=3)
    torch.manual_seed(2)  # nothing else that is drawn matters
    assert equal(first, Transformer(config_of(positions="learned"), seed=3))
    assert not equal(first, Transformer(config_of(positions="learned"), seed=4))


def test_first_weights_have_the_spread_of_the_table() -> None:
    model = Transformer(ModelConfig(vocabulary=500, d_model=64, feed_forward=128, positions="learned", norm="batch"))
    initialise(model, 64, seed=1)
    weights = {name: value.detach() for name, value in model.weights().items()}
    assert float(weights["source_embedding.weight"].std()) == pytest.approx(64**-0.5, rel=0.05)
    assert float(weights["encoder.input.positions.weight"].std()) == pytest.approx(0.02, rel=0.05)
    wide = weights["encoder.layers.0.feed_forward.wide.weight"]
    assert float(wide.std()) == pytest.approx((2 / (64 + 128)) ** 0.5, rel=0.05)
    assert float(wide.abs().max()) <= (6 / (64 + 128)) ** 0.5
    for name, value in weights.items():
        if name.endswith((".bias", "running_mean")):
            assert (value == 0).all(), name
        if name.endswith(("norm.weight", "running_variance")):
            assert (value == 1).all(), name


def test_weights_can_be_drawn_anew(config_of: ConfigOf) -> None:
    model = Transformer(config_of(), seed=1)
    initialise(model, 16, seed=2)
    assert equal(model, Transformer(config_of(), seed=2))


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_a_model_comes_back_from_its_directory(
    tie: str, norm: str, tmp_path: Path, config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    model = model_of(config_of(tie=tie, norm=norm, output_bias=True), torch.float32)
    model.save(tmp_path / "deep" / "model")
    loaded = Transformer.load(tmp_path / "deep" / "model")
    assert loaded.config == model.config
    assert equal(loaded, model)
    assert not loaded.training
    batch = batch_of(model.config)
    assert torch.equal(loaded(*batch), model(*batch))
    source, real, target_in, _ = batch
    oracle = reference.Transformer.load(tmp_path / "deep" / "model")
    expected = oracle.forward(source, real, target_in)
    np.testing.assert_allclose(loaded(*batch).detach(), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_equal_models_are_equal_bytes(tmp_path: Path, config_of: ConfigOf) -> None:
    for name in ("one", "two"):
        Transformer(config_of(), seed=5).save(tmp_path / name)
    for file in ("config.json", "model.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_half_precision_halves_the_file_and_loads(tmp_path: Path, config_of: ConfigOf, model_of: ModelOf) -> None:
    model = model_of(config_of(vocabulary=500), torch.float32)
    model.save(tmp_path / "full")
    model.save(tmp_path / "half", torch.float16)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "full")]
    assert sizes[0] < 0.65 * sizes[1]
    loaded = Transformer.load(tmp_path / "half")
    for name, value in loaded.weights().items():
        assert value.dtype == torch.float32
        assert torch.equal(value, model.weights()[name].half().float())


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
def test_tied_matrices_are_one(tie: str, config_of: ConfigOf) -> None:
    model = Transformer(config_of(tie=tie))
    source, target, output = model.source_embedding.weight, model.target_embedding.weight, model.output.weight
    assert (source is target) == (tie == "all")
    assert (target is output) == (tie != "none")


@pytest.mark.parametrize("tie", ["all", "none"])
@pytest.mark.parametrize("attention_dropout", [0.0, 0.2])  # the fused kernel, and the explicit formula
@pytest.mark.parametrize("choice", [{"activation": "swiglu"}, {"norm": "batch", "norm_place": "pre"}])
def test_gradients_reach_every_parameter_and_are_finite(
    tie: str, attention_dropout: float, choice: dict[str, str], config_of: ConfigOf, batch_of: BatchOf
) -> None:
    """Also with a source of padding alone in the batch."""
    fixed = {"positions": "learned", "max_length": 6, "output_bias": True}
    model = Transformer(config_of(tie=tie, attention_dropout=attention_dropout, **fixed, **choice)).train()
    model(*batch_of(model.config)).logsumexp(-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert (parameter.grad != 0).any() or name.endswith("key.bias"), name  # a shift of all scores changes nothing


# --- bad input: the same error from both models -----------------------------------------------------------------


@pytest.fixture(params=["torch", "reference"])
def walker(
    request: pytest.FixtureRequest, config_of: ConfigOf, model_of: ModelOf
) -> Transformer | reference.Transformer:
    model = model_of(config_of(positions="learned", max_length=4))
    if request.param == "torch":
        return model
    return reference.Transformer(
        model.config, {name: value.detach().numpy() for name, value in model.weights().items()}
    )


def ids(*rows: list[int]) -> Tensor:
    return torch.tensor(rows, dtype=torch.int64)


def real(batch: Tensor) -> Tensor:
    return torch.ones_like(batch, dtype=torch.bool)


@pytest.mark.parametrize("bad", [19, -1, 10**6])
def test_ids_outside_the_vocabulary(bad: int, walker: Transformer) -> None:
    good, wrong = ids([3, 4]), ids([3, bad])
    message = f"id {bad} is outside the vocabulary of 19"
    with pytest.raises(UserError, match=f"source ids: {message}"):
        walker.encode(wrong, real(wrong))
    memory = walker.encode(good, real(good))
    with pytest.raises(UserError, match=f"target ids: {message}"):
        walker.decode(wrong, memory, real(good))
    with pytest.raises(UserError, match=f"target ids: {message}"):
        walker.step(ids([bad]), walker.start(memory, real(good)))


def test_longer_than_a_learned_table(walker: Transformer) -> None:
    good, long = ids([3, 4, 5, 6]), ids([3, 4, 5, 6, 7])
    message = "5 tokens, but the learned positions end at 4"
    with pytest.raises(UserError, match=message):
        walker.encode(long, real(long))
    memory = walker.encode(good, real(good))
    with pytest.raises(UserError, match=message):
        walker.decode(long, memory, real(good))
    cache = walker.start(memory, real(good))
    for _ in range(4):
        _, cache = walker.step(ids([3]), cache)
    with pytest.raises(UserError, match=message):
        walker.step(ids([3]), cache)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0), (3,)])
def test_an_empty_batch(shape: tuple[int, ...], walker: Transformer) -> None:
    empty, good = torch.zeros(shape, dtype=torch.int64), ids([3, 4])
    with pytest.raises(UserError, match="source ids: an empty batch"):
        walker.encode(empty, real(empty))
    memory = walker.encode(good, real(good))
    with pytest.raises(UserError, match="target ids: an empty batch"):
        walker.decode(empty, memory, real(good))
    with pytest.raises(UserError, match="target ids: an empty batch"):
        walker.step(empty, walker.start(memory, real(good)))


def test_ids_that_are_no_whole_numbers(walker: Transformer) -> None:
    with pytest.raises(UserError, match="not whole numbers"):
        walker.encode(torch.tensor([[3.0]]), torch.tensor([[True]]))
