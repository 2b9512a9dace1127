"""Checked examples in the terminal: numbers, verdicts and causes in words, in any width and any encoding."""

from __future__ import annotations

import io
import re

from rich.console import Console

from pellucid.terminal.worked import print_examples
from pellucid.worked import CheckedExample, check, read, shipped, templates
from pellucid.worked.examples import read_text


def everything() -> list[CheckedExample]:
    return [check(read(str(path))) for path in (*shipped(), *templates().values())]


def own(text: str) -> CheckedExample:
    return check(read_text(text, "own.toml"))


def shown_in_terminal(examples: list[CheckedExample], encoding: str = "utf-8", width: int = 100) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    print_examples(examples, Console(file=stream, width=width, color_system=None))
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_the_terminal_shows_numbers_verdicts_and_causes_in_words() -> None:
    text = shown_in_terminal(everything())
    assert "✗ wrong      scores = Q @ K.T" in text
    assert re.search(r"0\.28 ✗  0\.22 ✗ +0\.22  0\.18", text)
    assert re.search(r"1\.027 ✗  0\.993 ↳ +1\.0028  0\.9986 +1\.0148  0\.9926", text)
    assert "likely cause: one frequency reused for all dimensions" in text
    assert "−0.9899 ≈" in text
    assert "· not stated" in text


def test_everything_right_is_said_in_one_line() -> None:
    text = shown_in_terminal([check(read("W10"))])
    assert text.splitlines()[-1].strip() == "✓ 7 right  Everything is right."


def test_nothing_stated_is_not_called_right() -> None:
    text = shown_in_terminal([own('[[steps]]\nname = "a"\nexpression = "1"')])
    assert text.splitlines()[-1].strip() == "Nothing is stated, so nothing is checked."


def test_narrow_and_plain_terminals() -> None:
    for width in (40, 80):
        lines = shown_in_terminal(everything(), width=width).splitlines()
        assert max(map(len, lines)) <= max(width, 80)
    text = shown_in_terminal(everything(), encoding="ascii")
    assert "x wrong" in text
    assert "0.28 x  0.22 x" in text


def test_large_values_do_not_fill_the_terminal() -> None:
    lines = shown_in_terminal([own('[[steps]]\nname = "a"\nexpression = "ones(300, 300)"\nstated = 1')]).splitlines()
    assert len(lines) < 30
    assert max(map(len, lines)) <= 100
