from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from pellucid.cli.describe import describe as command
from pellucid.config import ModelConfig, preset
from pellucid.errors import UserError
from pellucid.model_directory.describe import describe, matmul_rate
from pellucid.model_directory.shapes import weight_shapes
from pellucid.reference import Transformer

SMALL: dict[str, Any] = {"vocabulary": 11, "d_model": 8, "heads": 4, "feed_forward": 6, "decoder_layers": 3}
CHOICES: list[dict[str, Any]] = [
    {"tie": "all"},
    {"tie": "decoder", "output_bias": True},
    {"tie": "none", "bias": False},
    {"tie": "none", "vocabulary": None, "source_vocabulary": 7, "target_vocabulary": 13},
    {"kv_heads": 2, "activation": "swiglu"},
    {"positions": "learned", "norm_place": "pre", "embedding_norm": True},
    {"norm": "rms"},
    {"norm": "batch"},
]
choices = pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "-".join(choice))


def run(*words: str) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(command)
    return CliRunner(env={"COLUMNS": "80", "TERM": "dumb"}).invoke(app, words)


def numbers(*words: str) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


@choices
def test_parts_add_up_to_the_parameters_of_the_file(choice: dict[str, Any]) -> None:
    config = ModelConfig(**{**SMALL, **choice})
    learned = [prod(shape) for name, shape in weight_shapes(config).items() if "running" not in name]
    description = describe(config)
    assert description.parameters == sum(learned)
    assert sum(part.parameters for part in description.components) == sum(learned)


@choices
def test_multiply_adds_are_those_the_reference_does(choice: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every matrix product of a pass is counted as it happens, and divided by the tokens of its side."""
    from pellucid.reference import functions

    config = ModelConfig(**{**SMALL, **choice})
    model = Transformer(config, {name: np.ones(shape) for name, shape in weight_shapes(config).items()})
    counted = 0
    original = functions.linear

    def counting(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        nonlocal counted
        counted += prod(x.shape[:-1]) * weight.size
        return original(x, weight, bias)

    monkeypatch.setattr(functions, "linear", counting)
    source, target_in = np.full((2, 5), 3), np.full((2, 3), 3)
    model.forward(source, np.ones((2, 5), bool), target_in)
    description = describe(config)
    assert counted == 10 * description.multiply_adds("source") + 6 * description.multiply_adds("target")


def test_multiply_adds_of_a_key() -> None:
    # Each of 4 heads: a dot product of size 2 for the score, and a value of size 2 times its weight.
    assert describe(ModelConfig(**SMALL)).multiply_adds_per_key == 4 * (2 + 2)


@choices
def test_cache_is_as_large_as_the_real_one(choice: dict[str, Any]) -> None:
    config = ModelConfig(**{**SMALL, **choice})
    model = Transformer(config, {name: np.ones(shape) for name, shape in weight_shapes(config).items()})
    keep = np.ones((1, 5), bool)
    cache = model.start(model.encode(np.full((1, 5), 3), keep), keep)
    assert (
        sum(part.size for part in cache.memory_keys + cache.memory_values) * 4
        == 5 * describe(config).cache["source_token"]
    )
    _, cache = model.step([[3]], cache)
    assert sum(part.size for part in cache.keys + cache.values) * 4 == describe(config).cache["target_token"]


def test_the_paper() -> None:
    found = numbers()
    assert found["parameters"] == 63_082_496
    assert found["config"]["vocabulary"] == 37_000
    assert found["memory"] == {"weights": 252_329_984, "gradients": 252_329_984, "optimiser": 504_659_968}
    assert numbers("--preset", "big")["parameters"] == 214_245_376


def test_768_in_12_heads() -> None:
    found = numbers("--set", "d_model=768", "--set", "heads=12")
    assert (found["d_head"], found["qkv_weights"], found["qkv_biases"]) == (64, 1_769_472, 2_304)
    parts = {part["part"]: part for part in found["parts"]}
    three = [parts[f"encoder.layers.*.self_attention.{name}"] for name in ("query", "key", "value")]
    assert sum(part["weights"] for part in three) == 1_769_472
    assert sum(part["biases"] for part in three) == 2_304
    shown = run("--set", "d_model=768", "--set", "heads=12").output
    assert "12 heads of 64" in shown
    assert "1,769,472 weights and 2,304 biases" in shown


def test_a_model_directory(tmp_path: Path) -> None:
    config = preset("tiny", vocabulary=500, kv_heads=2)
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    assert numbers("--model", str(tmp_path))["parameters"] == describe(config).parameters
    assert numbers("--model", str(tmp_path), "--set", "heads=8")["d_head"] == 16
    run_directory = tmp_path / "run"
    (run_directory / "model").mkdir(parents=True)
    (run_directory / "model" / "config.json").write_text(json.dumps(config.to_dict()))
    assert numbers("--model", str(run_directory))["parameters"] == describe(config).parameters


def test_a_directory_whose_name_looks_like_markup(tmp_path: Path) -> None:
    directory = tmp_path / "[bold]"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(preset("tiny", vocabulary=500).to_dict()))
    assert "[bold]" in run("--model", str(directory)).output.replace("\n", "")


def test_training_is_six_operations_a_weight_and_token() -> None:
    found = numbers("--preset", "tiny", "--tokens", "1e6")
    passed = found["multiply_adds"]["source_token"] + found["multiply_adds"]["target_token"]
    training = found["training"]
    assert training["flops"] == 6e6 * passed
    assert training["seconds"] * training["measured_flops_a_second"] == pytest.approx(training["flops"])
    assert training["paper_base_flops"] == 3.3e18
    assert "3.3e18" in run("--tokens", "1e6").output
    assert matmul_rate(seconds=0, size=64) > 0


@pytest.mark.parametrize("words", [(), ("--preset", "big", "--tokens", "1e9"), ("--set", "vocabulary=9000000")])
def test_a_pipe_gets_plain_text_with_every_number_whole(words: tuple[str, ...]) -> None:
    shown = run(*words).output
    assert "\x1b" not in shown
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert f"{numbers(*words)['parameters']:,} parameters" in shown


def test_what_was_assumed_is_said() -> None:
    assert "preset base, vocabulary 37,000 (the paper's, as none was given)" in run().output
    assert "none was given" not in run("--set", "vocabulary=100").output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--preset", "base", "--model", "somewhere"), "--preset and --model: both are given"),
        (("--preset", "bass"), "did you mean 'base'"),
        (("--model", "/nowhere/at/all"), "no model '/nowhere/at/all'"),
        (("--set", "d_modl=3"), "did you mean 'd_model'"),
        (("--set", "heads=7"), "not divisible"),
        (("--set", "heads"), "has no name or no value"),
        (("--tokens", "0"), "--tokens"),
        (("--tokens", "-5"), "--tokens"),
        (("--tokens", "nan"), "--tokens"),
        (("--tokens", "inf"), "--tokens"),
    ],
)
def test_bad_requests(words: tuple[str, ...], message: str) -> None:
    result = run(*words)
    assert isinstance(result.exception, UserError)
    assert message in str(result.exception)
