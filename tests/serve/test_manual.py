"""The manual says of every setting what the code says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pellucid.config import ServeConfig
from scripts.settings_tables import markdown_table

MANUAL = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")


def test_every_setting_is_in_the_manual() -> None:
    assert markdown_table(ServeConfig.settings().values(), as_flags=True) in MANUAL


def test_every_operation_is_in_the_manual(shared: Any) -> None:
    operations = [(method, path) for path, methods in shared.get("/spec").json["paths"].items() for method in methods]
    assert [path for method, path in operations if f"`{method.upper()} {path}`" not in MANUAL] == []
