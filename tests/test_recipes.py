"""Every recipe is a config that can be run: it loads, and its settings fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

from pellucid.training.settings import Settings, read_toml

RECIPES = sorted(Path(__file__).parents[1].glob("recipes/*.toml"))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_loads(recipe: Path) -> None:
    settings = Settings.of(read_toml(recipe))
    limits = (settings.train.steps, settings.train.epochs, settings.train.minutes, settings.train.patience)
    assert any(limit is not None for limit in limits)
    assert f"--config recipes/{recipe.name}" in recipe.read_text(encoding="utf-8")


def test_there_are_recipes() -> None:
    assert RECIPES
