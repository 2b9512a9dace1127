"""What is understood, what cannot be called, and that the code is bounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pellucid.errors import UserError
from pellucid.worked.code import check_code
from pellucid.worked.code.examples import fills
from pellucid.worked.code.process import Limits, Process
from pellucid.worked.code.task import Knobs, MisfitError, Reading, Task
from pellucid.worked.code.tasks import TASKS
from pellucid.worked.code.tasks.oracle import beam_search

QUICK = Limits(call_seconds=2.0, cpu_seconds=20)
SOFTMAX = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
"""


def written(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: str(task.name))
def test_the_formula_without_a_slip_is_the_reference_and_with_one_it_is_not(task: Task) -> None:
    arguments = {role: role for signature in task.signatures for role in signature}
    reading = task.readings(arguments, "")[0]
    cases = [task.build(fill, size, reading) for size in task.sizes[-3:] for fill in fills((), 3)]
    for case in cases:
        np.testing.assert_allclose(task.slipped(case, reading), task.right(case, reading), atol=1e-9)


def test_slips_change_the_result_somewhere() -> None:
    """A slip without an effect on any input could never be told from right code."""
    for task in TASKS:
        for _, knobs in task.single_slips():
            assert any(_differs(task, reading, knobs) for reading in _readings(task)), (task.name, knobs)


def _readings(task: Task) -> list[Reading]:
    roles = [{role: role for role in signature} for signature in task.signatures]
    return [reading for arguments in roles for reading in task.readings(arguments, "")[:40]]


def _differs(task: Task, reading: Reading, knobs: Knobs) -> bool:
    for each in task.properties:
        for size in (each.sizes or task.sizes)[-4:]:
            for fill in fills(each.values, 2):
                case = each.change(task.build(fill, size, reading))
                try:
                    with np.errstate(all="ignore"):
                        slipped = task.slipped(case, reading, **knobs)
                except MisfitError:
                    continue
                right = task.right(case, reading)
                if slipped.shape != right.shape or not np.allclose(slipped, right, atol=1e-6):
                    return True
    return False


def test_a_wide_beam_finds_what_all_sequences_hold() -> None:
    """By hand: 0 starts, 1 ends. Greedy takes 2 (0.6) and ends at 0.6 * 0.5; 3 (0.4) then 1 (0.9) is likelier."""
    table = {(0,): [0.0, 0.0, 0.6, 0.4], (0, 2): [0.0, 0.5, 0.3, 0.2], (0, 3): [0.0, 0.9, 0.05, 0.05]}

    def step(tokens: tuple[int, ...]) -> list[float]:
        return [float(np.log(p + 1e-12)) for p in table[tokens]]

    assert beam_search(step, 0, 1, 2, 1, {}) == [2, 1]
    assert beam_search(step, 0, 1, 2, 2, {}) == [3, 1]


def test_what_is_understood_is_reported(tmp_path: Path) -> None:
    text = "import numpy as np\ndef my_softmax_v2(foo):\n    e = np.exp(foo - foo.max(-1, keepdims=True))\n"
    code = check_code(written(tmp_path, text + "    return e / e.sum(-1, keepdims=True)\n"))
    [function] = code.functions
    assert (function.name, function.task, code.right) == ("my_softmax_v2", "softmax", True)
    assert "foo is x, by its place" in function.understood


def test_what_cannot_be_called_is_reported(tmp_path: Path) -> None:
    text = (
        SOFTMAX + "def attention(q, k, v, memory, cache):\n    pass\nclass Head:\n    pass\ndef helper():\n    pass\n"
    )
    left_out = dict(check_code(written(tmp_path, text)).left_out)
    assert "memory, cache" in left_out["attention"]
    assert left_out.keys() == {"attention", "Head", "helper"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def softmax(x:\n", "not Python"),
        ("x = 1\n", "nothing to check"),
        ("def helper(x):\n    return x\n", "nothing to check"),
    ],
)
def test_what_is_asked_wrongly(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        check_code(written(tmp_path, text))


def test_a_file_that_raises_is_not_right(tmp_path: Path) -> None:
    code = check_code(written(tmp_path, SOFTMAX + "print('hello')\nsoftmax(undefined)\n"))
    assert code.functions[0].right
    assert not code.right
    assert code.problem.startswith("line 7: running the file raises NameError")
    assert "hello" in code.printed


def test_code_is_limited(tmp_path: Path) -> None:
    text = """
import numpy as np
def loop(x):
    while True: pass
def large(x):
    return np.ones((1 << 33,))
def leave(x):
    import os; os._exit(0)
def shout(x):
    print("a" * 10**6); return x
def ask(x):
    return input()
"""
    with Process(Path(written(tmp_path, text)), QUICK) as process:
        given = {"x": np.ones(2)}
        errors = {name: process.call(name, given, "numpy").error for name in ("loop", "large", "leave", "shout", "ask")}
        assert len(process.printed) <= 4000
    assert errors["loop"] == "timeout"
    assert "MemoryError" in errors["large"]
    assert errors["leave"] == "died"
    assert errors["shout"] == ""
    assert errors["ask"] == "EOFError"
