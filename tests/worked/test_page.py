"""The page and the terminal view: what a reader is shown, and that nothing in a file can break out of it."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from rich.console import Console

from pellucid.worked import CheckedExample, check, read, shipped, templates
from pellucid.worked.evaluator import parse
from pellucid.worked.examples import read_text
from pellucid.worked.page import page
from pellucid.worked.typeset import formula, symbol
from pellucid.worked.view import print_examples

VOID = {"meta", "br"}


class Balanced(HTMLParser):
    """Collects the text of each element and insists that every tag is closed by its own."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))


def read_page(text: str) -> Balanced:
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert not parser.open
    return parser


def everything() -> list[CheckedExample]:
    return [check(read(str(path))) for path in (*shipped(), *templates().values())]


def own(text: str) -> CheckedExample:
    return check(read_text(text, "own.toml"))


def test_the_page_is_whole_and_needs_nothing_else() -> None:
    text = page(everything())
    read_page(text)
    assert not re.search(r"https?:|src=|url\(|@import|<script|<link", text)
    for found in re.findall(r"<math.*?</math>", text, re.DOTALL):
        ElementTree.fromstring(found)
    assert "prefers-color-scheme: dark" in text


def test_wrong_numbers_are_struck_and_right_ones_stand_beside() -> None:
    texts = read_page(page([check(read("W6"))])).texts
    struck = [text for tag, text in texts if tag == "del"]
    assert struck[:8] == ["0.28", "0.22", "0.54", "0.42", "0.198", "0.155", "0.382", "0.297"]
    inserted = [text for tag, text in texts if tag == "ins"]
    assert inserted[:8] == ["0.22", "0.18", "0.41", "0.39", "0.1556", "0.1273", "0.2899", "0.2758"]
    words = {text.strip() for _, text in texts}
    assert {"wrong", "carried", "right:"} <= words  # spoken, not shown by colour alone


def test_what_is_not_stated_is_told_quietly() -> None:
    texts = read_page(page([own('[[steps]]\nname = "a"\nexpression = "[1, 2]"\nstated = [1, "?"]')])).texts
    assert [text for tag, text in texts if tag == "span" and text == "2"] == ["2"]


def test_what_a_file_says_cannot_become_markup() -> None:
    evil = "<script>alert(1)</script>&\\\"'"
    example = own(
        f"""
        id = "{evil}"
        title = "{evil}"
        about = "{evil}"
        [inputs]
        words = ["{evil}", "b"]
        [[steps]]
        name = "a"
        expression = "words[0]"
        stated = "{evil}!"
        note = "{evil}"
        """
    )
    text = page([example])
    read_page(text)
    assert "<script" not in text
    assert (
        text.count("&lt;script&gt;") == 8
    )  # title (twice), id (twice: link left out), about, input, stated, note, right


def test_large_values_do_not_fill_the_page() -> None:
    example = own('[[steps]]\nname = "a"\nexpression = "ones(300, 300)"\nstated = 1')
    assert len(page([example])) < 40_000
    lines = shown_in_terminal([example]).splitlines()
    assert len(lines) < 30
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Q @ K.T / sqrt(d_k)", ("mfrac", "msqrt", "msup", "msub")),
        ("(a + b) * c", ("(",)),
        ("x[0, 1:]", ("msub",)),
        ("exp(x) // 2 - -abs(x) % 3", ("msup", "⌊", "|", "mod")),
        ("sum([a, b], axis=0)", ("[", "axis")),
    ],
)
def test_formulas_are_set(expression: str, expected: tuple[str, ...]) -> None:
    text = formula("y", parse(expression))
    ElementTree.fromstring(text)
    assert all(part in text for part in expected)


def visible(text: str) -> str:
    return "".join(ElementTree.fromstring(text).itertext())


def test_parentheses_stand_only_where_they_are_needed() -> None:
    assert visible(formula("y", parse("a - (b - c)"))) == "y=a−(b−c)"
    assert visible(formula("y", parse("(a - b) - c"))) == "y=a−b−c"
    assert visible(formula("y", parse("(a * b) + c"))) == "y=a·b+c"
    assert visible(formula("y", parse("(a + b) ** 2"))) == "y=(a+b)2"
    assert visible(formula("y", parse("(A @ B).T"))) == "y=(AB)⊤"
    assert visible(formula("y", parse("(a / b) ** 2"))) == "y=(ab)2"
    assert visible(formula("y", parse("weights @ V"))) == "y=weights·V"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("W_Q", "<msub><mi>W</mi><mi>Q</mi></msub>"),
        ("Q1", "<msub><mi>Q</mi><mn>1</mn></msub>"),
        ("d_model", "<msub><mi>d</mi><mtext>model</mtext></msub>"),
        ("token_12", "<msub><mtext>token</mtext><mn>12</mn></msub>"),
        ("first_layer", "<mtext>first layer</mtext>"),
        ("gamma", "<mi>γ</mi>"),
        ("x", "<mi>x</mi>"),
    ],
)
def test_names_are_set(name: str, text: str) -> None:
    assert symbol(name) == text


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
    assert text.splitlines()[-1].strip() == "Nothing is stated, so nothing is judged."


def test_narrow_and_plain_terminals() -> None:
    for width in (40, 80):
        lines = shown_in_terminal(everything(), width=width).splitlines()
        assert max(map(len, lines)) <= max(width, 80)
    text = shown_in_terminal(everything(), encoding="ascii")
    assert "x wrong" in text
    assert "0.28 x  0.22 x" in text
