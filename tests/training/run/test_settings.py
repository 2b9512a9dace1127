"""Settings from a file, a preset, flags and --set, in rising order of weight."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.errors import UserError
from pellucid.training.run.settings import Settings, gather, read_toml

PAIRS = {"data": {"pairs": "a.tsv"}}


def test_later_sources_win(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text("[model]\nd_model = 64\nheads = 2\n[train]\nsteps = 1\nwarmup = 7\n", encoding="utf-8")
    settings = Settings.of(gather(config, "tiny", PAIRS | {"train": {"steps": 2}}, ["warmup=9", "max_ratio=3"]))
    assert (settings.model.d_model, settings.model.heads, settings.model.encoder_layers) == (64, 2, 4)
    assert (settings.train.steps, settings.train.warmup) == (2, 9)
    assert settings.rules.max_ratio == 3.0


def test_without_a_shape_the_model_is_tiny() -> None:
    assert Settings.of(gather(None, None, PAIRS, ["heads=2"])).model.d_model == 128


def test_a_preset_can_be_set_as_in_a_file() -> None:
    assert Settings.of(gather(None, None, PAIRS, ["preset=base"])).model.d_model == 512


def test_every_unknown_name_is_told_with_the_nearest_right_one() -> None:
    tables = gather(None, "tny", PAIRS | {"train": {"stepps": 5}}, ["nrm=rms", "max_ratios=3"])
    tables["modle"] = {}
    with pytest.raises(UserError) as caught:
        Settings.of(tables)
    assert {(problem.where, problem.remedy) for problem in caught.value.problems} == {
        ("modle", "did you mean 'model'?"),
        ("nrm", "did you mean 'norm'?"),
        ("max_ratios", "did you mean 'max_ratio'?"),
        ("preset", "did you mean 'tiny'?"),
        ("stepps", "did you mean 'steps'?"),
    }


def test_a_key_in_the_wrong_table_is_told_its_own() -> None:
    with pytest.raises(UserError) as caught:
        Settings.of(PAIRS | {"train": {"d_model": 64, "max_ratoi": 0.1}, "model": {"steps": 3}})
    assert {(problem.where, problem.what) for problem in caught.value.problems} == {
        ("d_model", "is in [train]"),
        ("max_ratoi", "unknown key (value 0.1)"),
        ("steps", "is in [model]"),
    }
    assert "d_model: is in [train] (move it to [model])" in str(caught.value)


def test_two_passes_that_drop_nothing_are_refused() -> None:
    with pytest.raises(UserError, match="r_drop: has no effect without dropout"):
        Settings.of(gather(None, None, PAIRS, ["r_drop=5", "dropout=0"]))
    assert Settings.of(gather(None, None, PAIRS, ["r_drop=5", "dropout=0", "attention_dropout=0.1"])).train.r_drop == 5


def test_the_keys_of_data_include_the_rules() -> None:
    with pytest.raises(UserError, match="did you mean 'max_ratio'"):
        Settings.of({"data": {"pairs": "a.tsv", "max_ratoi": 3}})


def test_a_preset_as_a_flag_wins_over_the_file(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[model]\npreset = "tiny"\n', encoding="utf-8")
    assert Settings.of(gather(config, "small", PAIRS, [])).model.d_model == 256


def test_toml_round_trip(tmp_path: Path) -> None:
    settings = Settings.of(gather(None, "tiny", PAIRS, ["positions=rotary", "vocabulary=500", "minutes=1.5"]))
    (tmp_path / "c.toml").write_text(settings.to_toml(), encoding="utf-8")
    assert Settings.of(read_toml(tmp_path / "c.toml")) == settings


@pytest.mark.parametrize(("text", "expected"), [("steps = 3", "outside a table"), ("[a\n", "is not TOML")])
def test_a_file_that_is_no_config_says_so(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=expected):
        read_toml(tmp_path / "c.toml")


def test_settings_and_pairs_are_read_without_torch() -> None:
    program = "import sys; sys.modules['torch'] = None; import pellucid.training.run, pellucid.training.data"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
