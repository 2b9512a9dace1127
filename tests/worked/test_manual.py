"""docs/worked-examples.md and docs/sheets.md tell the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pellucid.cli import VERBS, application
from pellucid.errors import UserError
from pellucid.worked import check, templates
from pellucid.worked.examples import read_text
from pellucid.worked.functions import FUNCTIONS

DOCS = Path(__file__).parents[2] / "docs"
MANUAL = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("worked-examples.md", "sheets.md"))
EXAMPLE = "".join(re.findall(r"```toml\n(.*?)```", MANUAL, re.DOTALL))


def test_the_example_passes() -> None:
    assert [step.verdict for step in check(read_text(EXAMPLE, "mine.toml")).steps] == 3 * ["right"]


def test_the_mistake_is_found_as_shown(tmp_path: Path) -> None:
    mistaken = EXAMPLE.replace("[[0.46, 0.60], [0.14, 0.57]]", "[[0.33, 0.43], [0.10, 0.40]]")
    mistaken = mistaken.replace("[[0.46, 0.54], [0.40, 0.60]]", "[[0.48, 0.52], [0.43, 0.57]]")
    (tmp_path / "mine.toml").write_text(mistaken, encoding="utf-8")
    result = CliRunner(env={"COLUMNS": "130"}).invoke(application(VERBS), ["check", str(tmp_path / "mine.toml")])
    assert result.exit_code == 1
    shown = MANUAL.split("$ pellucid check mine.toml\n")[1].split("```")[0]
    assert [line.rstrip() for line in result.stdout.splitlines()] == shown.splitlines()


def test_the_errors_are_the_ones_shown() -> None:
    broken = EXAMPLE.replace('"Q @ K.T"', '"sotfmax(Q)"').replace("(d_k)", "(d_K)")
    with pytest.raises(UserError) as caught:
        read_text(broken, "mine.toml")
    assert re.findall(r"pellucid: (.*)\n", MANUAL) == [str(problem) for problem in caught.value.problems]


def test_every_function_and_every_template_is_named() -> None:
    code = set(re.findall(r"\w[\w-]*", " ".join(re.findall(r"`([^`\n]*)`", MANUAL))))
    assert FUNCTIONS.keys() <= code
    assert templates().keys() <= code
