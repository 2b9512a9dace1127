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
from pellucid.worked import check, read, templates
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
    first, second, third = (without_answers(checked, hints).steps for hints in (0, 1, 2))
    assert [(step.hint, step.cause) for step in first] == 3 * [(None, None)]
    hints = ["work this again from x", "work number 1 again from mean, x", None]
    assert [step.hint for step in second] == [step.hint for step in third] == hints
    assert [step.cause for step in second] == [None, None, None]
    causes = ["sum instead of mean", "none of the known slips gives this: check the arithmetic", None]
    assert [step.cause for step in third] == causes


@pytest.mark.parametrize(
    ("written", "hint"),
    [("[[-1.33, -0.33, 1.67]]", "count the rows and columns"), ("[-1,33, -0,33, 1,67]", "a comma meant as a decimal")],
)
def test_a_shape_is_a_hint_of_its_own(written: str, hint: str) -> None:
    checked = check(read_text(stated("2.33", written, "1.56"), "ben"))
    (step,) = (step for step in without_answers(checked, 1).steps if step.verdict == "wrong")
    assert str(step.hint).startswith("a shape that does not fit: ")
    assert hint in str(step.hint)


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
    assert rows[3]["remarks"].startswith("line 1: ")
    written = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [row["student"] for row in written] == ["anna", "ben", "carl", "dora"]
    assert sorted(page.name for page in pages.iterdir()) == ["anna.html", "ben.html", "carl.html"]
    shown = " ".join(run("grade", folder, "--key", tmp_path / "key.toml").stdout.split())
    assert "3 of 3" in shown
    assert "not read" in shown


def test_odd_files_of_a_class_are_said_to_be_so(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    (folder / "fred").mkdir(parents=True)
    key = folder / "key.toml"  # beside the sheets: it is nobody's
    key.write_text(KEY, encoding="utf-8")
    (folder / ".hidden").write_text("", encoding="utf-8")
    (folder / "anna.toml.txt").write_text(ANNA, encoding="utf-8")
    (folder / "ben.toml").write_text(ANNA.replace("homework", "Ü"), encoding="latin-1")
    (folder / "carl.toml").write_text("[[steps]]\nname = 'mean'\nstated = 2,33", encoding="utf-8")
    (folder / "dora.toml").write_text(f"{ANNA}\n[[steps]]\nname = 'mean'\nstated = '7/3'", encoding="utf-8")
    (folder / "ed.toml").write_text("", encoding="utf-8")
    pages = folder / "pages"
    for _ in range(2):  # what is written is not graded the next time
        result = run("grade", folder, "--key", key, "--csv", folder / "scores.csv", "--pages", pages, "--json")
        assert result.exit_code == 1
        rows = {row["student"]: (row["earned"], row["remarks"]) for row in json.loads(result.stdout)["students"]}
        assert rows == {
            "anna.toml.txt": (3, ""),
            "ben": ("", "line 2: is not UTF-8 text (save the file as UTF-8)"),
            "carl": (
                "",
                "line 3: Expected newline or end of document after a statement "
                "(write a decimal comma in quotes, or a point: 2.33)",
            ),
            "dora": (3, "mean is there 2 times: the last one counts"),
            "ed": (0, "there are no steps in it"),
            "fred": ("", "cannot be read: Is a directory"),
        }
    assert len(list(pages.iterdir())) == 3


def test_an_empty_sheet_to_hand_out(tmp_path: Path) -> None:
    for kind, path in templates().items():
        (tmp_path / "key.toml").write_text(run("check", "--new", kind, "--hide-answers").stdout, encoding="utf-8")
        sheet, full = read(str(tmp_path / "key.toml")), read(str(path))
        assert [(step.name, step.expression) for step in sheet.steps] == [(s.name, s.expression) for s in full.steps]
        assert all(step.asked and step.stated is None for step in sheet.steps)
        assert {name: value.tolist() for name, value in sheet.inputs.items()} == {
            name: value.tolist() for name, value in full.inputs.items()
        }


def test_a_folder_without_sheets(tmp_path: Path) -> None:
    (tmp_path / "key.toml").write_text(KEY, encoding="utf-8")
    (tmp_path / "none").mkdir()
    for folder, what in ((tmp_path / "none", "contains no sheets"), (tmp_path / "nowhere", "is not a folder")):
        with pytest.raises(UserError, match=what):
            run("grade", folder, "--key", tmp_path / "key.toml")


def test_the_claims_are_printed() -> None:
    assert "pellucid lab forcing" in " ".join(run("check", "--claims").stdout.split())
    assert len(json.loads(run("check", "--claims", "--json").stdout)["claims"]) == 20
