from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pellucid.errors import UserError
from pellucid.model_directory.find import find_model

MakeModel = Callable[..., Path]


def test_models_are_found_by_name_or_directory(make_model: MakeModel, tmp_path: Path) -> None:
    assert find_model(make_model()) == make_model()
    shutil.copytree(make_model(), tmp_path / "run" / "model")
    assert find_model(tmp_path / "run") == tmp_path / "run" / "model"
    with pytest.raises(UserError, match="no model 'nowhere'"):
        find_model("nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"no config\.json"):
        find_model(tmp_path / "empty")


def test_a_run_without_a_model_yet_is_reported(tmp_path: Path) -> None:
    (tmp_path / "config.toml").touch()
    with pytest.raises(UserError, match=f"no model yet .*pellucid train --resume {re.escape(str(tmp_path))}"):
        find_model(tmp_path)


def test_a_copy_without_models_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pellucid.model_directory.find.SHIPPED", tmp_path)
    with pytest.raises(UserError, match=r"no model 'en-de'.*no model ships with this copy: train one"):
        find_model("en-de")
