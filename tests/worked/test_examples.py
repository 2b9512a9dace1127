"""Reading files: everything wrong with one is told at once, with file, line and column, and nothing makes it crash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.errors import UserError
from pellucid.worked import check, read, templates
from pellucid.worked.examples import read_text

pytestmark = pytest.mark.filterwarnings("error")  # nothing is muttered beside the verdicts

GOOD = """
id = "mine"
title = "My own"

[inputs]
x = [1, 2.50]
words = ["a", "b"]

[[steps]]
name = "double"
expression = "2 * x"
stated = [2, 5.00]
note = "by hand"
"""


def problems(text: str) -> list[tuple[str, str, str]]:
    with pytest.raises(UserError) as caught:
        check(read_text(text, "f.toml"))
    return [(problem.where, problem.what, problem.remedy) for problem in caught.value.problems]


def test_a_file_is_read() -> None:
    example = read_text(GOOD, "f.toml")
    assert (example.id, example.title, list(example.inputs)) == ("mine", "My own", ["x", "words"])
    np.testing.assert_array_equal(example.inputs["x"], [1, 2.5])
    step = example.steps[0]
    assert (step.name, step.expression, step.note) == ("double", "2 * x", "by hand")
    assert step.stated is not None
    np.testing.assert_array_equal(step.stated.unit, [1, 0.01])


def test_id_and_title_may_be_left_out() -> None:
    example = read_text('[[steps]]\nname = "a"\nexpression = "1"', "homework.toml")
    assert (example.id, example.title) == ("homework", "homework")


def test_all_problems_come_at_once_with_their_places() -> None:
    text = """
titel = "typo"
[inputs]
x = [[1, 2], [3]]
b-1 = 3
day = 2020-01-01
[[steps]]
name = "a"
expression = "sotfmax(x) + y"
[[steps]]
name = "b"
expression = "c + X"
stated = true
[[steps]]
name = "c"
expression = "1 +"
[[steps]]
name = "c"
expression = "1"
[[steps]]
expression = "1"
[[steps]]
name = "d"
expression = 3
[[steps]]
# a comment in between
name = "lambda"
expression = "d"
"""
    assert problems(text) == [
        ("f.toml:2:10", "unknown key 'titel'", "did you mean 'title'?"),
        ("f.toml:4:5", "the rows differ in length", "a number, words in quotes, or lists of one of them"),
        ("f.toml:5:7", "'b-1' cannot be a name", "letters, digits and _, no digit first"),
        (
            "f.toml:6:7",
            "2020-01-01 is neither a number nor a word",
            "a number, words in quotes, or lists of one of them",
        ),
        ("f.toml:9:15", "unknown function 'sotfmax'", "did you mean 'softmax'?"),
        ("f.toml:12:15", "unknown name 'c'", "it comes in a later step"),
        ("f.toml:12:19", "unknown name 'X'", "known: a, b-1, day, x"),
        ("f.toml:13:10", "True is neither a number nor a word", 'numbers, words in quotes, lists; "?": not stated'),
        ("f.toml:16:18", "cannot be read: it ends too early", ""),
        ("f.toml:18:9", "'c' is there already", "give each input and step a name of its own"),
        ("f.toml:20:1", "the step has no name", 'name = "…"'),
        ("f.toml:24:14", "expression is not a string", 'expression = "…"'),
        ("f.toml:27:9", "'lambda' cannot be a name", "letters, digits and _, no digit first"),
    ]


@pytest.mark.parametrize(
    ("text", "where", "remedy"),
    [
        ("x = .5", "f.toml:1:5", "write 0.5"),
        ('[[steps]]\nname = "a"\nexpression = "1"\nstated = [0.5, .25]', "f.toml:4:16", "write 0.25"),
        ("x = [1,\n 2", "f.toml:2:1", ""),
        ("x = 1\nx = 2\n", "f.toml:2:6", ""),
    ],
)
def test_what_is_no_toml(text: str, where: str, remedy: str) -> None:
    found = problems(text)
    assert len(found) == 1
    assert (found[0][0], found[0][2]) == (where, remedy)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "steps = 3",
        "steps = []",
        "steps = [1]",
        "inputs = 3",
        "[steps]\nname = 'a'",
        "x = " + "[" * 3000 + "]" * 3000,
        "x = " + "9" * 5000,
        "[inputs]\nx = " + "9" * 400,
        "[inputs]\nx = 1e99999999999999999999",
        "[inputs]\nx = [[[[[1]]]]]",
        "[inputs]\nx = []",
        '[inputs]\nx = ["?"]',
        '[inputs]\nx = [1, "a"]',
        "[inputs]\nx = {a = 1}",
        '[[steps]]\nname = "a"\nexpression = "1"\nstated = {}',
        '[[steps]]\nname = "a"\nexpression = "1"\nstated = []',
        "".join(f'[[steps]]\nname = "a{i}"\nexpression = "1"\n' for i in range(500)),
    ],
)
def test_what_is_no_example(text: str) -> None:
    assert problems(text)


def test_a_list_of_inline_tables_is_as_good() -> None:
    example = read_text('steps = [{name = "a", expression = "1 + 1", stated = 2}]', "f.toml")
    assert check(example).steps[0].verdict == "right"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes('title = "a"\n# \xe9'.encode("latin-1"))
    (tmp_path / "large.toml").write_bytes(b"#" * 2_000_000)
    for name, what in (
        ("missing.toml", "cannot be read"),
        ("latin.toml", "is not UTF-8 text"),
        ("large.toml", "is larger than"),
        (".", "cannot be read"),
    ):
        with pytest.raises(UserError, match=what):
            read(str(tmp_path / name))


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert check(read(str(path))).steps[0].verdict == "right"


def test_the_examples_that_ship_are_known_by_id() -> None:
    assert read("W6").id == read("w6").id == "W6"


TEMPLATES = "".join(path.read_text(encoding="utf-8") for path in templates().values())
LINES = sorted({line for line in TEMPLATES.splitlines() if line and not line.startswith("#")})


@settings(max_examples=150)
@given(st.lists(st.sampled_from([*LINES, "[inputs]", "[[steps]]", 'stated = "?"', "stated = [nan, inf]"]), max_size=12))
def test_no_lines_put_together_break_it(lines: list[str]) -> None:
    try:
        check(read_text("\n".join(dict.fromkeys(lines)), "f.toml"))
    except UserError as error:
        problems = error.problems
        assert problems


@settings(max_examples=150)
@given(st.sampled_from(sorted(templates())), st.data())
def test_no_damaged_template_breaks_it(kind: str, data: st.DataObject) -> None:
    text = templates()[kind].read_text(encoding="utf-8")
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 8))
        text = text[:start] + data.draw(st.text("[]{}\"'=.,-?9naf \n", max_size=4)) + text[start + length :]
    try:
        check(read_text(text, "f.toml")).to_dict()
    except UserError as error:
        problems = error.problems
        assert problems
