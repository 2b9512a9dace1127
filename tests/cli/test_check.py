"""`pellucid check` as people and programs call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from pellucid.cli.check import check
from pellucid.errors import UserError

app = typer.Typer()
app.command()(check)

KINDS = ("attention", "masked", "positions", "layer-norm", "feed-forward", "softmax", "greedy")


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_all_as_json() -> None:
    result = run("--all", "--json")
    assert result.exit_code == 1
    examples = json.loads(result.stdout)["examples"]
    assert [example["id"] for example in examples] == [f"W{number}" for number in range(1, 16)]
    keys = {"name", "verdict", "stated", "right", "from_stated", "elements", "cause"}
    assert all(keys <= step.keys() for example in examples for step in example["steps"])
    scores = examples[5]["steps"][0]
    assert scores["stated"] == [[0.28, 0.22], [0.54, 0.42]]
    assert scores["elements"] == [["wrong", "wrong"], ["wrong", "wrong"]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_file_passes(kind: str, tmp_path: Path) -> None:
    template = run("--new", kind)
    assert template.exit_code == 0
    path = tmp_path / "mine.toml"
    path.write_text(template.stdout, encoding="utf-8")
    result = run(path)
    assert result.exit_code == 0
    assert "Everything is right." in result.stdout
    assert run("-", stdin=template.stdout).exit_code == 0


def test_a_wrong_number_gives_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(run("--new", "softmax").stdout.replace("0.6590", "0.6950"), encoding="utf-8")
    result = run(path)
    assert result.exit_code == 1
    assert "0.6950 ✗" in result.stdout or "0.6950 x" in result.stdout


def test_rounded_and_carried_alone_give_zero(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[[steps]]\nname = "a"\nexpression = "2 / 3"\nstated = 0.66', encoding="utf-8")
    assert run(path).exit_code == 0


def test_several_files_and_ids(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(run("--new", "greedy").stdout, encoding="utf-8")
    found = json.loads(run(path, "W10", "w1", "--json").stdout)["examples"]
    assert [example["id"] for example in found] == ["greedy", "W10", "W1"]


def test_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("W10", "--html", page).exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(UserError, match="cannot be written"):
        run("W10", "--html", tmp_path / "nowhere" / "page.html")


def test_what_is_asked_wrongly(tmp_path: Path) -> None:
    for arguments in ((), ("--all", "W1"), ("--new", "softmax", "--json"), ("--new", "softmaxx"), ("missing.toml",)):
        with pytest.raises(UserError):
            run(*arguments)
    with pytest.raises(UserError, match="did you mean 'softmax'"):
        run("--new", "softmaxx")


def test_the_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text('[[steps]]\nname = "a"\nexpression = "foo(1)"', encoding="utf-8")
    with pytest.raises(UserError) as caught:
        run(tmp_path / "a.toml", tmp_path / "b.toml")
    places = [problem.where for problem in caught.value.problems]
    assert places == [f"{tmp_path / name}:3:15" for name in ("a.toml", "b.toml")]


SOFTMAX = """
import numpy as np

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""


def test_python_files_are_checked_as_code(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(SOFTMAX, encoding="utf-8")
    wrong.write_text(SOFTMAX.replace("axis=-1", "axis=0"), encoding="utf-8")
    assert run(right).exit_code == 0
    result = run(right, wrong, "--json")
    assert result.exit_code == 1
    files = json.loads(result.stdout)["files"]
    assert [file["right"] for file in files] == [True, False]
    failed = files[1]["functions"][0]["properties"][0]
    assert failed["cause"].startswith("wrong axis")
    assert failed["found"] != failed["right"]
    for arguments in ((right, "W1"), (right, "--all"), (right, "--html", tmp_path / "page.html")):
        with pytest.raises(UserError, match="by themselves"):
            run(*arguments)
