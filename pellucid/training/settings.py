"""All that a run is told, from a config file, a preset, flags and `--set`, in rising order of weight."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pellucid.config import PRESETS, DataConfig, FilterConfig, ModelConfig, TrainConfig
from pellucid.errors import Problem, UserError, nearest
from pellucid.fields import Config, parse_settings
from pellucid.model_directory import ModelDirectory

TABLES = ("data", "model", "train")
HOMES = {
    "data": [*DataConfig.names(), *FilterConfig.names(), "start_from"],
    "model": [*ModelConfig.names(), "preset"],
    "train": TrainConfig.names(),
}
UNKNOWN = "--set"  # where `gather` puts what belongs into none of them
DEFAULT_PRESET = "tiny"
Tables = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Settings:
    """The tables of a config file. [data] also holds the rules for leaving out pairs, and the model to start from."""

    data: DataConfig
    rules: FilterConfig
    model: ModelConfig
    train: TrainConfig
    start_from: str | None = None  # a model directory

    @classmethod
    def of(cls, tables: Tables) -> Settings:
        """From the tables [data] [model] [train], all their problems in one error."""
        problems = _misplaced(tables)
        data, model, train = (
            {name: value for name, value in tables.get(table, {}).items() if name in HOMES[table]} for table in TABLES
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
            remedy = "set dropout above 0: what two passes drop is all that they differ in"
            raise UserError("has no meaning where nothing is dropped", "r_drop", remedy)
        return cls(**made, start_from=start_from)

    def to_toml(self) -> str:
        """The same as a config file. Strings, numbers, truth values and lists are written in TOML as in JSON."""
        data = self.data.to_dict() | self.rules.to_dict() | ({"start_from": self.start_from} if self.start_from else {})
        tables = {"data": data, "model": self.model.to_dict(), "train": self.train.to_dict()}
        return "\n".join(
            f"[{name}]\n"
            + "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())
            for name, table in tables.items()
        )


def _misplaced(tables: Tables) -> list[Problem]:
    """Tables that there are not, and keys that are not of their table."""
    problems = [
        Problem("unknown table", name, nearest(name, TABLES)) for name in tables if name not in (*TABLES, UNKNOWN)
    ]
    for table, own in {**HOMES, UNKNOWN: [name for names in HOMES.values() for name in names]}.items():
        for name, value in tables.get(table, {}).items():
            home = next((other for other, names in HOMES.items() if name in names), None)
            if home is None:
                problems.append(Problem(f"unknown key (value {value!r})", name, nearest(name, own)))
            elif table in TABLES and home != table:
                problems.append(Problem(f"stands in [{table}]", name, f"move it to [{home}]"))
    return problems


def _model_to_start_from(
    directory: ModelDirectory, asked: Mapping[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """The config of a model to fine-tune. Its weights fix its shape; only dropout may be asked for anew."""
    model = directory.config.to_dict()
    for name, value in asked.items():
        if name.endswith("dropout"):
            model[name] = value
        elif model.get(name) != value:
            what = f"{value!r} is asked for, but the model to start from has {model.get(name)!r}"
            problems.append(Problem(what, name, "a model that is fine-tuned keeps its shape"))
    return model


def gather(
    config: Path | None, preset: str | None, flags: Tables, settings: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The tables of a config file, with a preset, flags and `--set key=value` words laid over it."""
    tables: dict[str, dict[str, Any]] = {name: {} for name in TABLES}
    for name, table in (read_toml(config) if config else {}).items():
        tables[name] = dict(table)
    for name, values in flags.items():
        tables[name] |= values
    plain = not tables["model"]
    if preset is not None:
        tables["model"]["preset"] = preset
    for name, value in parse_settings(list(settings)).items():
        home = next((table for table, names in HOMES.items() if name in names), UNKNOWN)
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
        raise UserError(
            f"{', '.join(loose)}: stands outside a table", str(path), "begin with [data], [model] or [train]"
        )
    return tables
