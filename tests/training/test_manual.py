"""The manual says of every setting what the code says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pellucid.config import DataConfig, FilterConfig, ModelConfig, TrainConfig
from pellucid.fields import Config, markdown_table

MANUAL = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [DataConfig, FilterConfig, ModelConfig, TrainConfig])
def test_every_setting_is_in_the_manual(kind: type[Config]) -> None:
    for row in markdown_table(kind.settings().values()).splitlines()[2:]:
        assert row in MANUAL
