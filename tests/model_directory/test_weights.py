"""A model directory that is not whole is recognised, and every fault is named with its place."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from pellucid.config import ModelConfig
from pellucid.errors import UserError
from pellucid.model_directory.shapes import weight_shapes
from pellucid.model_directory.weights import check_shapes, read_config, read_weights

CONFIG = ModelConfig(vocabulary=9, d_model=8, heads=2, feed_forward=8, encoder_layers=1, decoder_layers=1)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A whole model of zeros."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG.to_dict()))
    save_file(zeros(), tmp_path / "model.safetensors")
    return tmp_path


def zeros() -> dict[str, np.ndarray]:
    return {name: np.zeros(shape, np.float32) for name, shape in weight_shapes(CONFIG).items()}


def test_a_whole_directory(directory: Path) -> None:
    assert read_config(directory) == CONFIG
    weights = read_weights(directory, CONFIG)
    assert {name: value.shape for name, value in weights.items()} == weight_shapes(CONFIG)


def test_half_precision_is_read(directory: Path) -> None:
    save_file({name: value.astype(np.float16) for name, value in zeros().items()}, directory / "model.safetensors")
    assert {value.dtype for value in read_weights(directory, CONFIG).values()} == {np.dtype(np.float16)}


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere: no such model directory \(give the folder"):
        read_config(tmp_path / "nowhere")


def test_an_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config\.json: missing"):
        read_config(tmp_path)
    with pytest.raises(UserError, match=r"model\.safetensors: missing"):
        read_weights(tmp_path, CONFIG)


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "\xff", "null"])
def test_a_config_that_is_not_an_object(text: str, directory: Path) -> None:
    (directory / "config.json").write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=r"config\.json: (cannot be read|is not a JSON object)"):
        read_config(directory)


def test_a_config_with_several_faults(directory: Path) -> None:
    (directory / "config.json").write_text(json.dumps({**CONFIG.to_dict(), "d_modl": 3, "norm": "laier"}))
    with pytest.raises(UserError) as caught:
        read_config(directory)
    assert [problem.where.rsplit(": ", 1)[1] for problem in caught.value.problems] == ["d_modl", "norm"]
    assert all("config.json" in problem.where for problem in caught.value.problems)


def test_weights_cut_short(directory: Path) -> None:
    path = directory / "model.safetensors"
    whole = path.read_bytes()
    for size in (0, 4, 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(UserError, match="damaged or cut short"):
            read_weights(directory, CONFIG)


def test_weights_of_another_model(directory: Path) -> None:
    weights = zeros()
    weights["source_embedding.weight"] = np.zeros((10, 8), np.float32)
    weights["stray"] = weights.pop("encoder.layers.0.self_attention.query.bias")
    save_file(weights, directory / "model.safetensors")
    with pytest.raises(UserError) as caught:
        read_weights(directory, CONFIG)
    assert [(p.where.rsplit(": ", 1)[1], p.what) for p in caught.value.problems] == [
        ("encoder.layers.0.self_attention.query.bias", "missing, should be (8,)"),
        ("stray", "unknown weight"),
        ("source_embedding.weight", "has shape (10, 8), should be (9, 8)"),
    ]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite(directory: Path, bad: float) -> None:
    weights = zeros()
    weights["source_embedding.weight"][2, 3] = bad
    weights["encoder.layers.0.self_attention.query.bias"][0] = bad
    save_file(weights, directory / "model.safetensors")
    with pytest.raises(UserError, match=r"not finite .*copy the model again") as caught:
        read_weights(directory, CONFIG)
    assert {problem.where.rsplit(": ", 1)[1] for problem in caught.value.problems} == {
        "source_embedding.weight",
        "encoder.layers.0.self_attention.query.bias",
    }


def test_many_faults_are_counted_not_listed() -> None:
    with pytest.raises(UserError) as caught:
        check_shapes({}, CONFIG, "file")
    missing = len(weight_shapes(CONFIG))
    assert len(caught.value.problems) == 11
    assert caught.value.problems[-1].what == f"and {missing - 10} more"


def test_numbers_of_a_type_that_numpy_does_not_know(directory: Path) -> None:
    header = json.dumps({"stray": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    (directory / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(UserError, match="save the weights as float32 or float16"):
        read_weights(directory, CONFIG)
