"""The documentation agrees with the code: its tables of settings, and the commands that it shows."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pellucid.cli import VERBS, application
from pellucid.config import DataConfig, DecodeConfig, EngineConfig, FilterConfig, ModelConfig, ServeConfig, TrainConfig
from pellucid.fields import Config
from scripts.settings_tables import TABLES, markdown_table, with_tables

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in DOCUMENTS}
COMMAND = re.compile(rf"^pellucid ({'|'.join(VERBS)}) (.*)", re.MULTILINE)


@pytest.mark.parametrize("document", TEXTS)
def test_every_table_is_as_the_settings_are_declared(document: str) -> None:
    assert with_tables(TEXTS[document]) == TEXTS[document], "run: python scripts/settings_tables.py"


@pytest.mark.parametrize(
    ("document", "config"),
    [
        ("training.md", DataConfig),
        ("training.md", FilterConfig),
        ("training.md", ModelConfig),
        ("training.md", TrainConfig),
        ("translating.md", DecodeConfig),
        ("translating.md", EngineConfig),
    ],
)
def test_every_setting_is_in_a_document(document: str, config: type[Config]) -> None:
    for row in markdown_table(config.settings().values()).splitlines()[2:]:
        assert row in TEXTS[document]


def test_a_table_that_is_out_of_date_is_replaced() -> None:
    document = "Before.\n<!-- settings: serve -->\n\n| old |\n\n<!-- end -->\nAfter.\n"
    made = with_tables(document)
    assert made == f"Before.\n<!-- settings: serve -->\n\n{TABLES['serve']}\n<!-- end -->\nAfter.\n"
    assert with_tables(made) == made
    assert all(setting.flag in made for setting in ServeConfig.settings().values())


@pytest.mark.parametrize("document", TEXTS)
def test_every_command_has_the_options_that_it_is_shown_with(document: str) -> None:
    for verb, words in COMMAND.findall(TEXTS[document]):
        words = words.split("#")[0]
        inner = [word for word in words.split()[:1] if verb == "lab" and not word.startswith("-")]  # pellucid lab xor
        known = options(verb, *inner)
        assert [option for option in re.findall(r"(?<!\S)--[a-z-]+", words) if option not in known] == []


@cache
def options(*verb: str) -> list[str]:
    return re.findall(r"--[a-z-]+", CliRunner().invoke(application(verb[:1]), [*verb, "--help"]).stdout)


def test_commands_are_found() -> None:
    assert len(COMMAND.findall("".join(TEXTS.values()))) > 20
