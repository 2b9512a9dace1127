"""For a class: no answer is given away, what is open is said, and the sheets of all are graded by one key."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pellucid.cli import VERBS, application
from pellucid.errors import UserError
from pellucid.worked import check
from pellucid.worked.classroom.hints import without_answers
from pellucid.worked.examples import read_text

KEY = """
id = "homework"
[inputs]
x = [1, 2, 4]
[[steps]]
name = "mean"
expression = "mean(x)"
stated = "?"
[[steps]]
name = "centred"
expression = "x - mean"
stated = ["?", "?", "?"]
[[steps]]
name = "variance"
expression = "mean(centred ** 2)"
stated = "?"
"""


def stated(*results: str) -> str:
    answers = iter(results)
    return re.sub("(?<=stated = ).*", lambda _: next(answers), KEY)


ANNA = stated("2.33", "[-1.33, -0.33, 1.67]", "1.56")
BEN = stated("7.00", "[-6.00, -5.00, -3.00]", "23.33")  # the sum for the mean; the rest follows


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(application(VERBS), [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_what_is_open_is_said_and_is_not_right(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(KEY, encoding="utf-8")
    result = run("check", tmp_path / "a.toml")
    assert result.exit_code == 1
    assert "3 open: homework.mean, homework.centred, homework.variance" in " ".join(result.stdout.split())
    (tmp_path / "a.toml").write_text(ANNA, encoding="utf-8")
    assert run("check", tmp_path / "a.toml").exit_code == 0
    partly = check(read_text(stated("2.33", '[-1.33, "?", 1.67]', "1.56"), "a"))
    assert partly.open == ["centred"]
    assert partly.score == (2.67, 3)


def test_answers_are_hidden(tmp_path: Path) -> None:
    (tmp_path / "ben.toml").write_text(BEN, encoding="utf-8")
    for form in ((), ("--json",), ("--html", tmp_path / "page.html")):
        result = run("check", tmp_path / "ben.toml", "--hide-answers", "--hints", "2", *form)
        assert result.exit_code == 1
        page = (tmp_path / "page.html").read_text(encoding="utf-8") if "--html" in form else ""
        shown = result.stdout + page.split('id="data"')[-1].split("</script>")[0]
        assert "sum instead of mean" in shown
        assert not any(answer in shown for answer in ("2.33", "1.33", "1.56"))
    assert "2.3333" in run("check", tmp_path / "ben.toml", "--json").stdout


def test_hints_come_in_two_steps() -> None:
    checked = check(read_text(BEN.replace("[-6.00,", "[-6.50,").replace("23.33", "25.42"), "ben"))
    first, second, third = ([step.cause for step in without_answers(checked, hints).steps] for hints in (0, 1, 2))
    assert first == [None, None, None]
    assert second == ["work this again from x", "work number 1 again from mean, x", None]
    assert third[0] == "work this again from x; sum instead of mean"
    assert third[1] == "work number 1 again from mean, x; none of the known slips gives this: check the arithmetic"


def test_a_class_is_graded(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    (tmp_path / "key.toml").write_text(KEY, encoding="utf-8")
    (folder / "anna.toml").write_text(ANNA, encoding="utf-8")
    (folder / "ben.toml").write_text(BEN.replace("x = [1, 2, 4]", "x = [9, 9, 9]"), encoding="utf-8")  # of no effect
    (folder / "carl.toml").write_text('[[steps]]\nname = "mean"\nstated = "2 1/3"\n[[steps]]\nname = "extra"', "utf-8")
    (folder / "dora.toml").write_text("x = = 3", encoding="utf-8")
    table, pages = tmp_path / "table.csv", tmp_path / "pages"
    result = run("grade", folder, "--key", tmp_path / "key.toml", "--csv", table, "--pages", pages, "--json")
    assert result.exit_code == 1  # one cannot be read
    rows = json.loads(result.stdout)["students"]
    assert [row["student"] for row in rows] == ["anna", "ben", "carl", "dora"]
    assert [(row["earned"], row["possible"]) for row in rows] == [(3, 3), (2, 3), (0, 3), ("", "")]
    assert (rows[1]["wrong"], rows[1]["carried"], rows[1]["causes"]) == (
        "mean", "centred variance", "mean: sum instead of mean",
    )  # fmt: skip
    assert rows[2]["open"] == "centred variance"
    assert "extra is no step of the key" in rows[2]["remarks"]
    assert "is not TOML" in rows[3]["remarks"]
    written = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [row["student"] for row in written] == ["anna", "ben", "carl", "dora"]
    assert sorted(page.name for page in pages.iterdir()) == ["anna.html", "ben.html", "carl.html"]
    shown = " ".join(run("grade", folder, "--key", tmp_path / "key.toml").stdout.split())
    assert "3 of 3" in shown
    assert "not read" in shown


def test_a_folder_without_sheets(tmp_path: Path) -> None:
    (tmp_path / "key.toml").write_text(KEY, encoding="utf-8")
    (tmp_path / "none").mkdir()
    for folder, what in ((tmp_path / "none", "contains no sheets"), (tmp_path / "nowhere", "is not a folder")):
        with pytest.raises(UserError, match=what):
            run("grade", folder, "--key", tmp_path / "key.toml")


def test_the_claims_are_printed() -> None:
    assert "pellucid lab forcing" in " ".join(run("check", "--claims").stdout.split())
    assert len(json.loads(run("check", "--claims", "--json").stdout)["claims"]) == 20
