"""The manual says of every setting what the code says of it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest

from pellucid.config import ModelConfig, TrainConfig
from pellucid.fields import Config
from pellucid.text.readers import Rules
from pellucid.training.data import DataConfig

MANUAL = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [DataConfig, Rules, ModelConfig, TrainConfig])
def test_every_setting_is_in_the_manual(kind: type[Config]) -> None:
    for spec in fields(cast(Any, kind)):
        default = spec.default
        shown = "" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
        assert f"| `{spec.name}` | {shown} | {spec.metadata['doc']} |" in MANUAL
