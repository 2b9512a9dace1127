"""Options that are made from the fields of a Config."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from pellucid.cli import application
from pellucid.cli.options import Fields, Given, options
from pellucid.config import PRESETS, DataConfig, DecodeConfig, ServeConfig, StartConfig
from pellucid.fields import Config, setting


class Soup(Config):
    """Fields of every type."""

    kind: Literal["clear", "thick"] = setting(default="thick", help="kind of soup")
    plates: int = setting(default=2, help="number of plates", minimum=1)
    salt: float | None = setting(default=None, help="share of salt", minimum=0, maximum=1)
    name: str | None = setting(default=None, help="its name")
    hot: bool = setting(default=False, help="serve it hot")
    herbs: str | list[str] | None = setting(default=None, help="what is in it")
    source_language: str | None = setting(default=None, help="language of the recipe")


ALL = Fields(Soup)


def cook(*words: str, fields: Fields = ALL, environment: dict[str, str] | None = None) -> tuple[str, Any]:
    """Run a verb with these options; what it prints and what it was given."""
    received: list[Any] = []

    def verb(dish: str, *, soup: Annotated[Given, fields], guests: int = 1) -> None:
        """Cook."""
        received.append((dish, soup, guests))

    verb.__annotations__ = {"dish": str, "soup": Annotated[Given, fields], "guests": int}
    app = typer.Typer(rich_markup_mode=None)
    app.command()(options(verb))
    result = CliRunner(env=environment).invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.output, received[0] if received else None


def test_a_verb_receives_the_values_that_were_given() -> None:
    assert cook("stew")[1] == ("stew", {}, 1)
    words = ["--kind", "clear", "--plates", "3", "--salt", "0.5", "--hot", "--guests", "4"]
    assert cook("stew", *words)[1] == ("stew", {"kind": "clear", "plates": 3, "salt": 0.5, "hot": True}, 4)


def test_a_default_that_was_given_counts_as_given() -> None:
    assert cook("stew", "--plates", "2")[1][1] == {"plates": 2}


def test_a_list_is_repeatable_and_text_stays_text() -> None:
    assert cook("stew", "--herbs", "1", "--herbs", "b", "--name", "007")[1][1] == {"herbs": ["1", "b"], "name": "007"}


def test_a_wrong_number_is_left_for_the_config_to_report() -> None:
    assert cook("stew", "--plates", "many", "--salt", "7")[1][1] == {"plates": "many", "salt": 7.0}


def test_some_fields_have_another_flag() -> None:
    assert cook("stew", "--from", "en")[1][1] == {"source_language": "en"}


def test_some_fields_may_be_set_by_the_environment() -> None:
    token = Fields(ServeConfig, ("metrics_auth_token",))
    secret = {"PELLUCID_METRICS_AUTH_TOKEN": "secret"}
    assert cook("stew", fields=token, environment=secret)[1][1] == {"metrics_auth_token": "secret"}


def test_the_help_shows_choices_ranges_defaults_and_texts() -> None:
    text = cook("--help")[0]
    for line in (
        "--kind clear|thick    kind of soup  [default: thick]",
        "--plates <int 1..>    number of plates  [default: 2]",
        "--salt <float 0..1>   share of salt",
        "--name <str>          its name",
        "--hot                 serve it hot",
        "--herbs <str>         what is in it (repeatable)",
        "--from <str>          language of the recipe",
    ):
        assert line in text


def test_a_subset_of_the_fields() -> None:
    text = cook("--help", fields=Fields(Soup, ("salt",)))[0]
    assert "--salt" in text
    assert "--plates" not in text


@pytest.mark.parametrize(
    ("verb", "config", "left_out"),
    [("translate", DecodeConfig, {"scores"}), ("serve", ServeConfig, set()), ("train", StartConfig, set())],
)
def test_every_field_is_an_option(verb: str, config: type[Config], left_out: set[str]) -> None:
    text = CliRunner().invoke(application((verb,)), [verb, "--help"]).stdout
    flags = {each.name: f"{each.flag} " in text for each in config.settings().values()}
    assert {name for name, shown in flags.items() if not shown} == left_out


def test_the_languages_of_a_training_are_from_and_to() -> None:
    text = CliRunner().invoke(application(("train",)), ["train", "--help"]).stdout
    assert "--from <str>" in text
    assert DataConfig.settings()["source_language"].help in text
    assert "--source-language" not in text


def test_the_choices_of_a_preset_are_the_presets() -> None:
    assert StartConfig.settings()["preset"].choices == tuple(PRESETS)


def test_all_wrong_values_are_reported_at_once_by_their_options() -> None:
    words = ["translate", "one", "--beam", "abc", "--strategy", "beem", "--top-p", "3", "--n-best", "0"]
    done = subprocess.run([sys.executable, "-m", "pellucid", *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "pellucid: --strategy: 'beem' is not a choice (did you mean 'beam'?)",
        "pellucid: --beam: 'abc' does not fit (give a whole number)",
        "pellucid: --top-p: 3.0 is out of range (give a number from 0 to 1)",
        "pellucid: --n-best: 0 is out of range (give a number at least 1)",
    ]
