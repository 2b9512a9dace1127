"""Config and weights of a model directory, read, checked and written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.config import ModelConfig
from pellucid.errors import Problem, UserError
from pellucid.model_directory.shapes import weight_shapes

CONFIG, WEIGHTS = "config.json", "model.safetensors"


def read_config(directory: Path) -> ModelConfig:
    """`config.json` of a model directory."""
    path = directory / CONFIG
    if not directory.is_dir():
        raise UserError("no such model directory", str(directory), "give the folder that holds config.json")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError("missing", str(path), "is this a model directory?") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", str(path), "copy the model again") from None
    if not isinstance(values, dict):
        raise UserError("is not a JSON object", str(path), "copy the model again")
    try:
        return ModelConfig(**values)
    except UserError as error:
        raise UserError(Problem(p.what, f"{path}: {p.where}", p.remedy) for p in error.problems) from None


def read_weights(directory: Path, config: ModelConfig, name: str = WEIGHTS) -> dict[str, NDArray[np.floating]]:
    """`model.safetensors`, or another file: tensors with the names and shapes that the config asks for, all finite."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = directory / name
    try:
        weights: dict[str, NDArray[np.floating]] = load_file(path)
    except FileNotFoundError:
        raise UserError("missing", str(path), "copy the model again, whole") from None
    except (OSError, SafetensorError) as error:
        remedy = "the file is damaged or cut short: copy it again"
        raise UserError(f"cannot be read: {error}", str(path), remedy) from None
    except TypeError as error:  # bfloat16, for instance, which NumPy does not know
        raise UserError(f"cannot be read: {error}", str(path), "save the weights as float32 or float16") from None
    check_shapes({name: value.shape for name, value in weights.items()}, config, str(path))
    check_finite(weights, str(path))
    return weights


def write_weights(directory: Path, config: ModelConfig, weights: Mapping[str, NDArray[Any]]) -> None:
    """Write config.json and model.safetensors; equal weights give equal bytes."""
    from safetensors.numpy import save

    write_config(directory, config)
    (directory / WEIGHTS).write_bytes(save({name: np.ascontiguousarray(value) for name, value in weights.items()}))


def write_config(directory: Path, config: ModelConfig) -> None:
    (directory / CONFIG).write_text(json.dumps(config.to_dict(), indent=2) + "\n", encoding="utf-8")


def check_shapes(found: dict[str, tuple[int, ...]], config: ModelConfig, where: str) -> None:
    """All weights that are missing, superfluous or of another shape than the config says, in one error."""
    expected = weight_shapes(config)
    wrong = {name: f"missing, should be {shape}" for name, shape in expected.items() if name not in found}
    wrong |= {name: "unknown weight" for name in found if name not in expected}
    for name, shape in expected.items():
        if name in found and tuple(found[name]) != shape:
            wrong[name] = f"has shape {found[name]}, should be {shape}"
    _raise_some(wrong, where, "config.json and model.safetensors do not belong together")


def check_finite(weights: dict[str, NDArray[np.floating]], where: str) -> None:
    """All weights with a number in them that is infinite or none, in one error."""
    bad = [name for name, value in weights.items() if not np.isfinite(value).all()]
    _raise_some(
        dict.fromkeys(bad, "holds numbers that are not finite"), where, "the file is damaged: copy the model again"
    )


def _raise_some(wrong: dict[str, str], where: str, remedy: str) -> None:
    """What is wrong with each weight, as many as one reads; the rest is counted."""
    problems = [Problem(what, f"{where}: {name}", remedy) for name, what in wrong.items()]
    if problems:
        rest = [Problem(f"and {len(problems) - 10} more", where)] if len(problems) > 10 else []
        raise UserError(problems[:10] + rest)
