"""Every recipe is a config that can be run: it loads, its settings fit together, and it comes as far as its plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pellucid.cli import application
from pellucid.config.data import PREFIXES
from pellucid.training.data import prepare
from pellucid.training.run.settings import Settings, read_toml

RECIPES = sorted(Path(__file__).parents[1].glob("recipes/*.toml"))
FILES = [f"{prefix}{kind}" for prefix in PREFIXES.values() for kind in ("source", "target", "pairs")]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_loads(recipe: Path) -> None:
    settings = Settings.of(read_toml(recipe))
    limits = (settings.train.steps, settings.train.epochs, settings.train.minutes, settings.train.patience)
    assert any(limit is not None for limit in limits)
    assert f"--config recipes/{recipe.name}" in recipe.read_text(encoding="utf-8")


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_dry_runs(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELLUCID_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(prepare, "GENERATED_PAIRS", {"train": 300, "valid": 30, "test": 30})
    words = ["train", "--config", str(recipe), "--dry-run"]
    for field in FILES:
        if field in read_toml(recipe)["data"]:
            words += ["--set", f'{field}="{made_up(tmp_path, field)}"']
    done = CliRunner().invoke(application(("train",)), words, catch_exceptions=False)
    assert done.exit_code == 0
    assert "an epoch: " in done.stdout
    assert "budget: " in done.stdout


def made_up(folder: Path, field: str) -> Path:
    """A file such as a field of [data] names, of lines that differ."""
    columns = 2 if field.endswith("pairs") else 1
    path = folder / (f"{field}.tsv" if columns == 2 else field)
    lines = ["\t".join(f"{field} column {column} line {line}" for column in range(columns)) for line in range(80)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_there_are_recipes() -> None:
    assert RECIPES
