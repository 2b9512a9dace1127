from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pellucid import reference
from pellucid.config import ModelConfig
from pellucid.errors import UserError
from pellucid.nn import Transformer, attach
from pellucid.nn.taps import Tapped, names

ConfigOf = Callable[..., ModelConfig]
ModelOf = Callable[..., Transformer]
BatchOf = Callable[[ModelConfig], tuple[Tensor, Tensor, Tensor, Tensor]]

CHOICES: list[dict[str, Any]] = [
    {},
    {"positions": "learned", "norm_place": "pre", "embedding_norm": True},
    {"positions": "rotary", "kv_heads": 2, "activation": "swiglu", "norm": "rms", "norm_place": "pre"},
    {"positions": "none", "tie": "none", "norm": "batch", "kv_heads": 1},
]
choices = pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "-".join(map(str, choice.values())) or "base")


class Recorder(dict[str, list[np.ndarray]]):
    """A record of the reference, kept as `attach` keeps one: a list a name."""

    def __call__(self, name: str, value: np.ndarray) -> np.ndarray:
        self.setdefault(name, []).append(value)
        return value


def twin(model: Transformer) -> reference.Transformer:
    return reference.Transformer(
        model.config, {name: value.detach().numpy() for name, value in model.weights().items()}
    )


def compare(record: dict[str, list[Tensor]], expected: Recorder) -> None:
    assert set(record) == set(expected)
    for name, values in record.items():
        assert len(values) == len(expected[name])
        for value, wanted in zip(values, expected[name], strict=True):
            np.testing.assert_allclose(value, wanted, rtol=0, atol=1e-10, err_msg=name)


@choices
def test_the_reference_records_the_same_values_under_the_same_names(
    choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    model = model_of(config_of(**choice))
    source, real, target_in, _ = batch_of(model.config)
    expected = Recorder()
    twin(model).forward(source, real, target_in, expected)
    with attach(model) as record:
        model(source, real, target_in)
    assert set(record) == set(names(model))
    compare(record, expected)


@choices
def test_steps_record_the_same_values_too(
    choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    model = model_of(config_of(**choice))
    source, real, target_in, _ = batch_of(model.config)
    oracle, expected = twin(model), Recorder()
    memory = model.encode(source, real)
    cache, oracle_cache = model.start(memory, real), oracle.start(memory.detach().numpy(), real)
    with attach(model, "decoder.*", "output.*") as record:
        for place in range(3):
            tokens = target_in[:, place, None]
            _, cache = model.step(tokens, cache)
            _, oracle_cache = oracle.step(tokens, oracle_cache, expected)
    compare(record, expected)


def test_every_kind_of_value_of_every_layer_can_be_seen(config_of: ConfigOf) -> None:
    found = set(names(Transformer(config_of())))
    for stack, sublayers in (("encoder", ["self_attention"]), ("decoder", ["self_attention", "cross_attention"])):
        assert {f"{stack}.input.embedding", f"{stack}.input.position", f"{stack}.output"} <= found
        for layer in range(2):
            place = f"{stack}.layers.{layer}"
            for sublayer in sublayers:
                parts = ("query", "key", "value", "scores", "weights", "heads", "output")
                assert {f"{place}.{sublayer}.{part}" for part in parts} <= found
                assert {f"{place}.{sublayer}_residual.{part}" for part in ("sum", "norm")} <= found
            assert {f"{place}.feed_forward.hidden", f"{place}.feed_forward.output"} <= found
    assert "output.logits" in found


@choices
def test_looking_changes_nothing_and_leaves_no_trace(
    choice: dict[str, Any], config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    model = model_of(config_of(**choice))
    batch = batch_of(model.config)
    before = model(*batch)  # the fused kernel
    with attach(model) as record:
        during = model(*batch)  # the explicit formula
    np.testing.assert_allclose(during.detach(), before.detach(), atol=1e-11)
    assert all(
        "tap" not in vars(module) or module.tap is None for module in model.modules() if isinstance(module, Tapped)
    )
    count = sum(map(len, record.values()))
    assert torch.equal(model(*batch), before)
    assert sum(map(len, record.values())) == count


def test_detached_also_after_an_error(config_of: ConfigOf) -> None:
    model = Transformer(config_of())
    with pytest.raises(UserError), attach(model):
        model.encode(torch.tensor([[99]]), torch.tensor([[True]]))
    assert all(module.tap is None for module in model.modules() if isinstance(module, Tapped))


def test_filters_choose_what_is_recorded(config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf) -> None:
    model = model_of(config_of())
    batch = batch_of(model.config)
    with attach(model, "encoder.layers.1.*.weights", "output.logits") as record:
        logits = model(*batch)
    assert set(record) == {"encoder.layers.1.self_attention.weights", "output.logits"}
    assert torch.equal(record["output.logits"][0], logits)
    assert not record["output.logits"][0].requires_grad


def test_a_name_nobody_has_is_an_error_with_the_nearest(config_of: ConfigOf) -> None:
    model = Transformer(config_of())
    with pytest.raises(UserError, match=r"did you mean 'output\.logits'"), attach(model, "output.logit"):
        pass
    with pytest.raises(UserError, match="position"), attach(Transformer(config_of(positions="none")), "*.position"):
        pass


def test_the_model_goes_on_with_what_a_change_returns(
    config_of: ConfigOf, model_of: ModelOf, batch_of: BatchOf
) -> None:
    model = model_of(config_of())
    source, real, target_in, _ = batch_of(model.config)

    def change(name: str, value: Tensor, seen: Mapping[str, Tensor]) -> Tensor:
        assert "encoder.input.output" in seen or name.startswith("encoder.input")
        return torch.zeros_like(value) if name == "encoder.output" else value

    with attach(model, "encoder.output", change=change) as record:
        logits = model(source, real, target_in)
    assert not record["encoder.output"][0].any()
    expected = model.decode(target_in, torch.zeros_like(record["encoder.output"][0]), real)
    np.testing.assert_allclose(logits.detach(), expected.detach(), atol=1e-11)
    with attach(model) as plain:
        model(source, real, target_in)
    with attach(model, change=lambda _name, value, _seen: value) as unchanged:
        model(source, real, target_in)
    for name, [value] in plain.items():
        assert torch.equal(value, unchanged[name][0])
