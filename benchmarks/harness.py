"""What all benchmarks share: interleaved rounds, ratios with their spread, the report, the picture.

Absolute times vary by a factor of two from one moment to the next, so contenders take turns (A B C A B C ...) and every
figure that matters is a ratio of two that stood side by side in the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "benchmarks"
RESULTS = ROOT / "benchmarks" / "results"
QUICK_RESULTS = CACHE / "quick"
PICTURES = ROOT / "docs" / "pictures"


@dataclass(frozen=True)
class Spread:
    """The median of some rounds, with the lowest and the highest."""

    median: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        return f"{self.median:{form}} ({self.low:{form}} to {self.high:{form}})"


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Ours over theirs, round by round."""
    return spread([our / their for our, their in zip(ours, theirs, strict=True)])


def interleave(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """One figure of each contender a round, in turns, after a round to warm up that does not count."""
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, measure in contenders.items():
            figure = measure()
            if number:
                figures[name].append(figure)
            turn = f"round {number} of {rounds}" if number else "warm-up"
            print(f"{turn:<16} {name:<48} {figure:12,.2f}", file=sys.stderr, flush=True)
    return figures


def options(
    description: str | None, *, rounds: int = 5, parents: Sequence[argparse.ArgumentParser] = ()
) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, parents=parents
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of corpora; default: generated text")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"of interleaved measurements; default: {rounds}")
    parser.add_argument("--threads", type=int, default=2, help="of every contender; default: 2")
    parser.add_argument("--out", type=Path, metavar="DIR", default=RESULTS, help="where the JSON is written")
    parser.add_argument("--quick", action=_Quick, nargs=0, default=False, help="no peers, small counts: does it work?")
    return parser


class _Quick(argparse.Action):
    """--quick also keeps its figures away from the real ones."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, _values: Any, _option: Any = None) -> None:
        namespace.quick = True
        if namespace.out == RESULTS:
            namespace.out = QUICK_RESULTS


def picture(arguments: argparse.Namespace, name: str) -> Path:
    """Where the picture of a benchmark is drawn."""
    return drawn(arguments.out, name)


def drawn(out: Path, name: str) -> Path:
    """The picture of a benchmark: of the real results among the documents, of all others beside their figures."""
    folder = PICTURES if out.resolve() == RESULTS else out
    return folder / f"bench-{name.replace('_', '-')}.png"


@dataclass(frozen=True)
class Goal:
    """A figure and the bar it should reach: at least, or, where less is better, at most."""

    what: str
    figure: Spread
    bar: float
    stretch: float | None = None
    unit: str = "x"
    less_is_better: bool = False

    @property
    def reached(self) -> bool:
        return self.figure.median <= self.bar if self.less_is_better else self.figure.median >= self.bar


@dataclass(frozen=True)
class Report:
    """What a benchmark found: a table for people, figures for programs, goals for the page of results."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: Mapping[str, Any]
    goals: Sequence[Goal] = field(default=())

    def show(self) -> None:
        table = Table(title=self.title, title_justify="left")
        for number, column in enumerate(self.columns):
            table.add_column(column, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*row)
        console = Console()
        console.print(table)
        for goal in self.goals:
            word = "reached" if goal.reached else "NOT reached"
            console.print(f"{goal.what}: {goal.figure:.2f} {goal.unit}, bar {goal.bar:g}: {word}", highlight=False)

    def save(self, out: Path) -> None:
        """Write NAME.json: the figures, the machine they come from and the command that gave them."""
        out.mkdir(parents=True, exist_ok=True)
        contents = asdict(self) | {"machine": machine(), "command": command()}
        for goal, written in zip(self.goals, contents["goals"], strict=True):
            written["reached"] = goal.reached
        (out / f"{self.name}.json").write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")


def command() -> str:
    """The command that is running, without the folders of this machine."""
    return " ".join(["python -m", f"benchmarks.{Path(sys.argv[0]).stem}", *map(_without_folder, sys.argv[1:])])


def _without_folder(word: str) -> str:
    """DIR for a path that leads out of the project; also in --option=path and name=path."""
    if _leads_out(word):
        return "DIR"
    name, equals, value = word.partition("=")
    return f"{name}{equals}DIR" if _leads_out(value) else word


def _leads_out(word: str) -> bool:
    return word.startswith(("~", "..")) or Path(word).is_absolute()


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    about = _processor()
    flags = about.get("flags", "").split()
    installed = {distribution: _version(distribution) for distribution in ("torch", "ctranslate2", "numpy")}
    return {
        "processor": about.get("model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "instructions": [
            name for name in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile") if name in flags
        ],
        "python": platform.python_version(),
        **installed,
        "date": datetime.now(UTC).date().isoformat(),
    }


def _processor() -> dict[str, str]:
    """The first processor as Linux describes it; elsewhere nothing."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").split("\n\n")[0].splitlines() if path.exists() else []
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def matmul_rate(threads: int, size: int = 1024, seconds: float = 0.5) -> float:
    """GFLOP/s of a square float32 matrix product in torch: what the processor gives at this moment."""
    import torch

    torch.set_num_threads(threads)
    left, right = torch.randn(size, size), torch.randn(size, size)
    out = torch.empty(size, size)
    torch.matmul(left, right, out=out)
    products, start = 0, time.perf_counter()
    while (taken := time.perf_counter() - start) < seconds:
        torch.matmul(left, right, out=out)
        products += 1
    return products * 2 * size**3 / taken / 1e9
