"""From nothing to a translation: `pellucid translate "Hello."` as a shell starts it, files in the system's cache.

Beside it the shortest script for Hugging Face, with a MarianMT of the same shape on disk, and the least that one can
write for CTranslate2, which is what Pellucid cannot be faster than.

    python -m benchmarks.cold_start
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.drawing import publish
from benchmarks.harness import CACHE, Goal, Report, interleave, options, ratios, spread
from benchmarks.peers.environments import environment
from benchmarks.peers.worker import Worker
from benchmarks.translators import lay_out
from pellucid.config import DEFAULT_MODEL
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.text.tokenizer import END, SPECIALS

TEXT = "Hello."
OURS, FLOOR, MARIAN = "pellucid translate", "CTranslate2, a minimal script", "Hugging Face, the shortest script"
BAR, STRETCH = 0.7, 0.4  # seconds
SHARE = 0.2  # of Hugging Face's time
PEERS = Path(__file__).parent / "peers"


def start(command: Sequence[str | Path], threads: int) -> Callable[[], float]:
    """Seconds from the start of a command to its end."""
    # Python may keep what it compiled, as it does for whoever installed the package.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def seconds() -> float:
        began = time.perf_counter()
        done = subprocess.run(
            command, capture_output=True, text=True, env={**environment, "OMP_NUM_THREADS": str(threads)}
        )
        taken = time.perf_counter() - began
        if done.returncode or not done.stdout.strip():
            raise UserError(f"did not translate: {done.stderr[-2000:]}", " ".join(map(str, command)))
        return taken

    return seconds


def ours() -> list[str | Path]:
    command = Path(sys.executable).with_name("pellucid")
    return [command if command.exists() else sys.executable, *([] if command.exists() else ["-m", "pellucid"])]


def floor(python: Path, model: ModelDirectory) -> list[str | Path]:
    ids = model.tokenizers.encode_source(TEXT, "de")
    pieces = model.tokenizers.source.pieces(ids)
    return [python, PEERS / "ctranslate2_start.py", model.path, model.converted(), *pieces]


def marian(python: Path, model: ModelDirectory, threads: int) -> list[str | Path]:
    """A MarianMT of the shape of our model, saved with our tokenizer in the form that Hugging Face reads."""
    folder = CACHE / "cold-start" / f"marian-{model.fingerprint()[:8]}"
    if not (folder / "model.safetensors").exists():
        job = lay_out(model, [TEXT], threads)
        with Worker(python, "benchmarks.peers.transformers_decode", [job, "marian"], threads=threads) as made:
            made.ask({"save": str(folder)})
    return [python, PEERS / "transformers_start.py", folder, f"<2de>{TEXT}{SPECIALS[END]}"]


def main() -> None:
    parser = options(__doc__, rounds=10)
    arguments = parser.parse_args()
    model = ModelDirectory.find(DEFAULT_MODEL)
    rounds = 2 if arguments.quick else arguments.rounds
    python = Path(sys.executable) if arguments.quick else environment("transformers")
    commands = {OURS: [*ours(), "translate", TEXT], FLOOR: floor(python, model)}
    if not arguments.quick:
        commands[MARIAN] = marian(python, model, arguments.threads)
    seconds = interleave({name: start(command, arguments.threads) for name, command in commands.items()}, rounds)
    spreads = {name: spread(taken) for name, taken in seconds.items()}
    rows = [[name, f"{each:.3f}", f"{ratios(seconds[OURS], seconds[name]):.2f}"] for name, each in spreads.items()]
    goals = [Goal("seconds of a cold start", spreads[OURS], BAR, STRETCH, unit="s", less_is_better=True)]
    if MARIAN in seconds:
        share = ratios(seconds[OURS], seconds[MARIAN])
        goals.append(Goal("cold start over that of Hugging Face", share, SHARE, less_is_better=True))
    figures: dict[str, Any] = {name: {"seconds": each} for name, each in spreads.items()}
    title = f'From a shell to the translation of "{TEXT}"'
    report = Report("cold_start", title, ["command", "seconds", "pellucid over it"], rows, figures, goals)
    publish(report, arguments, spreads, "seconds")


if __name__ == "__main__":
    main()
