"""The settings of a run: config file, preset, flags and `--set`. What comes later in this list wins."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pellucid.config import PRESETS, DataConfig, FilterConfig, ModelConfig, TrainConfig
from pellucid.errors import Problem, UserError, nearest
from pellucid.fields import Config, parse_settings
from pellucid.model_directory import ModelDirectory

TABLES = ("data", "model", "train")
TABLE_KEYS = {
    "data": [*DataConfig.names(), *FilterConfig.names(), "start_from"],
    "model": [*ModelConfig.names(), "preset"],
    "train": TrainConfig.names(),
}
UNKNOWN = "--set"  # the table in which `gather` puts keys that belong to no table
DEFAULT_PRESET = "tiny"
Tables = Mapping[str, Mapping[str, Any]]
DataArgument = DataConfig | dict[str, Any] | tuple[str | Path, str | Path] | str | Path


@dataclass(frozen=True)
class Settings:
    """The tables of a config file. [data] also holds the filters of pairs (`rules`), and the model to start from."""

    data: DataConfig
    rules: FilterConfig
    model: ModelConfig
    train: TrainConfig
    start_from: str | None = None  # a model directory

    @classmethod
    def of(cls, tables: Tables) -> Settings:
        """From the tables [data] [model] [train]; all their problems are reported in one error."""
        problems = _misplaced(tables)
        data, model, train = (
            {name: value for name, value in tables.get(table, {}).items() if name in TABLE_KEYS[table]}
            for table in TABLES
        )
        start_from = data.pop("start_from", None)
        preset = model.pop("preset", None)
        if preset is not None and preset not in PRESETS:
            problems.append(Problem(f"unknown preset {preset!r}", "preset", nearest(str(preset), PRESETS)))
        model = dict(PRESETS.get(preset, {})) | model
        if start_from is not None:
            try:
                directory = ModelDirectory.find(start_from)
                start_from, model = str(directory.path), _model_to_start_from(directory, model, problems)
            except UserError as error:
                problems += error.problems
        rules = {name: data.pop(name) for name in [*data] if name in FilterConfig.names()}

        made: dict[str, Any] = {}
        kinds: tuple[tuple[str, type[Config], Mapping[str, Any]], ...] = (
            ("data", DataConfig, data),
            ("rules", FilterConfig, rules),
            ("model", ModelConfig, model),
            ("train", TrainConfig, train),
        )
        for name, kind, values in kinds:
            try:
                made[name] = kind(**values)
            except UserError as error:
                problems += error.problems
        if problems:
            raise UserError(problems)
        dropped = made["model"].dropout, made["model"].attention_dropout, made["model"].activation_dropout
        if made["train"].r_drop and not any(dropped):
            remedy = "set dropout above 0: without it, both forward passes are the same"
            raise UserError("has no effect without dropout", "r_drop", remedy)
        return cls(**made, start_from=start_from)

    @classmethod
    def of_arguments(
        cls,
        data: DataArgument,
        model: ModelConfig | None = None,
        train: TrainConfig | None = None,
        start_from: str | Path | None = None,
    ) -> Settings:
        """From the arguments of `pellucid.train`."""
        if isinstance(data, str | Path):
            data = {"pairs": str(data)}
        elif isinstance(data, tuple):
            data = {"source": str(data[0]), "target": str(data[1])}
        elif isinstance(data, DataConfig):
            data = data.to_dict()
        if start_from is not None:
            data = {**data, "start_from": str(start_from)}
        default = {} if data.get("start_from") else {"preset": DEFAULT_PRESET}
        shape = model.to_dict() if model else default
        return cls.of({"data": data, "model": shape, "train": (train or TrainConfig()).to_dict()})

    def absolute(self) -> Settings:
        """The same with absolute paths, so that a run can be resumed from any working directory."""
        start_from = str(Path(self.start_from).resolve()) if self.start_from else None
        return replace(self, data=self.data.absolute(), start_from=start_from)

    def to_toml(self) -> str:
        """As a config file. Strings, numbers, booleans and lists are written in TOML as in JSON."""
        data = self.data.to_dict() | self.rules.to_dict() | ({"start_from": self.start_from} if self.start_from else {})
        tables = {"data": data, "model": self.model.to_dict(), "train": self.train.to_dict()}
        return "\n".join(
            f"[{name}]\n"
            + "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())
            for name, table in tables.items()
        )


def _misplaced(tables: Tables) -> list[Problem]:
    """Unknown tables, unknown keys, and keys in the wrong table."""
    problems = [
        Problem("unknown table", name, nearest(name, TABLES)) for name in tables if name not in (*TABLES, UNKNOWN)
    ]
    for table, own in {**TABLE_KEYS, UNKNOWN: [name for names in TABLE_KEYS.values() for name in names]}.items():
        for name, value in tables.get(table, {}).items():
            home = next((other for other, names in TABLE_KEYS.items() if name in names), None)
            if home is None:
                problems.append(Problem(f"unknown key (value {value!r})", name, nearest(name, own)))
            elif table in TABLES and home != table:
                problems.append(Problem(f"is in [{table}]", name, f"move it to [{home}]"))
    return problems


def _model_to_start_from(
    directory: ModelDirectory, asked: Mapping[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """The config of a model to fine-tune. Its weights fix its shape; only dropout may be changed."""
    model = directory.config.to_dict()
    for name, value in asked.items():
        if name.endswith("dropout"):
            model[name] = value
        elif model.get(name) != value:
            what = f"{value!r} is requested, but the model to start from has {model.get(name)!r}"
            problems.append(Problem(what, name, "leave it out: a fine-tuned model keeps its shape"))
    return model


def gather(
    config: Path | None, preset: str | None, flags: Tables, settings: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The tables of a config file, overridden by a preset, flags and `--set key=value`."""
    tables: dict[str, dict[str, Any]] = {name: {} for name in TABLES}
    for name, table in (read_toml(config) if config else {}).items():
        tables[name] = dict(table)
    for name, values in flags.items():
        tables[name] |= values
    plain = not tables["model"]
    if preset is not None:
        tables["model"]["preset"] = preset
    for name, value in parse_settings(list(settings)).items():
        home = next((table for table, names in TABLE_KEYS.items() if name in names), UNKNOWN)
        tables.setdefault(home, {})[name] = value
    if plain and not tables["data"].get("start_from"):
        tables["model"].setdefault("preset", DEFAULT_PRESET)
    return tables


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a config file."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", str(path), "give a TOML file") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"is not TOML: {error}", str(path), "see recipes/ for examples") from None
    loose = [name for name, table in tables.items() if not isinstance(table, dict)]
    if loose:
        raise UserError(f"{', '.join(loose)}: is outside a table", str(path), "begin with [data], [model] or [train]")
    return tables
