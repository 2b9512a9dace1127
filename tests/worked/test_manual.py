"""docs/worked-examples.md tells the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pellucid.errors import UserError
from pellucid.worked import check, templates
from pellucid.worked.examples import read_text
from pellucid.worked.functions import FUNCTIONS

MANUAL = (Path(__file__).parents[2] / "docs" / "worked-examples.md").read_text(encoding="utf-8")
EXAMPLE = "".join(re.findall(r"```toml\n(.*?)```", MANUAL, re.DOTALL))


def test_the_example_passes() -> None:
    assert [step.verdict for step in check(read_text(EXAMPLE, "mine.toml")).steps] == ["right", "right"]


def test_the_errors_are_the_ones_shown() -> None:
    broken = EXAMPLE.replace('"Q @ K.T"', '"sotfmax(Q)"').replace("(d_k)", "(d_K)")
    with pytest.raises(UserError) as caught:
        read_text(broken, "mine.toml")
    assert re.findall(r"pellucid: (.*)\n", MANUAL) == [str(problem) for problem in caught.value.problems]


def test_every_function_and_every_template_is_named() -> None:
    code = set(re.findall(r"\w[\w-]*", " ".join(re.findall(r"`([^`\n]*)`", MANUAL))))
    assert FUNCTIONS.keys() <= code
    assert templates().keys() <= code
