"""The command itself: version, help, and what it says where a part is not installed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules[{missing!r}] = None
sys.argv = ["pellucid", *{words!r}]
from pellucid.cli import main
main()
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pellucid", *words], capture_output=True, text=True)


def test_version_is_printed() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("pellucid ")


def test_without_a_verb_it_shows_its_help() -> None:
    done = run()
    assert done.returncode == 2
    assert "translate" in done.stdout


@pytest.mark.parametrize(
    ("missing", "words"),
    [("torch", ["train", "--corpus", "dates", "--out", "nowhere"])],
)
def test_what_is_not_installed_is_named_with_the_remedy(missing: str, words: list[str]) -> None:
    code = WITHOUT.format(missing=missing, words=words)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'pellucid[train]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_trace_is_computed_by_one_thread_unless_somebody_set_another_number() -> None:
    program = (
        "import os, sys\nfrom pellucid.cli import main\ntry:\n    main()\nfinally:\n    print(os.environ.get(NAME))"
    )
    program = program.replace("NAME", "'OPENBLAS_NUM_THREADS'")
    without = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}

    def threads(verb: str, **environment: str) -> str:
        command = [sys.executable, "-c", program, verb, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, env=without | environment, check=False)
        return done.stdout.split()[-1]

    assert threads("serve") == "1"
    assert threads("explain", OPENBLAS_NUM_THREADS="3") == "3"
    assert threads("train") == "None"
