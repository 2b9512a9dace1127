"""docs/checking-code.md shows what the command prints."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from pellucid.terminal.code import print_code
from pellucid.worked.code import check_code

ROOT = Path(__file__).parents[3]
MANUAL = (ROOT / "docs" / "checking-code.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"```\n\$ pellucid check (\S+)\n(.*?)```", MANUAL, re.DOTALL))


def printed(name: str) -> str:
    stream = io.StringIO()
    print_code(check_code(name), Console(file=stream, width=110, color_system=None))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()).strip()


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_prints_what_is_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    beginning = SHOWN[name].split("      …")[0].strip()
    assert printed(name).startswith(beginning)


def test_the_right_example_has_all_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert "examples/checking-code/attention_right.py" in MANUAL
    assert printed("examples/checking-code/attention_right.py").endswith("✓ 3 right  Every property holds.")
    assert len(SHOWN) == 3
