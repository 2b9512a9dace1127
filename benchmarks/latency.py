"""How long one sentence takes that comes alone: Pellucid and CTranslate2 in its best setting for that.

Sentence by sentence in turns. Before each turn both processes rest for a moment: threads that are done with their work
go on spinning for a while, and would be in the way of the other.

    python -m benchmarks.latency --data DIR
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.drawing import bars
from benchmarks.harness import Goal, Report, Spread, options, picture, ratios, spread
from benchmarks.peers.worker import Worker
from benchmarks.translators import Contenders, Setting, add_options, contenders, find_name, lay_out, models, sentences

SEARCHES = {"greedy": 1, "beam 5": 5}
OURS, THEIRS = "pellucid", "CTranslate2 at its best"
REST = 0.005  # seconds
BAR, STRETCH = 1.05, 1.0
TRIAL = 60  # sentences on which CTranslate2's settings are tried

Rounds = dict[str, dict[str, list[float]]]
"""Contender -> percentile -> milliseconds, round by round."""


def milliseconds(worker: Worker, request: dict[str, Any], place: int) -> float:
    time.sleep(REST)
    return 1000 * float(worker.ask({**request, "place": place})["seconds"])


def best_setting(worker: Worker, beam: int, threads: int, count: int) -> Setting:
    """The setting whose median is lowest for single sentences."""
    medians: dict[Setting, float] = {}
    for compute_type in ("int8", "int8_float32", "float32"):
        for each in sorted({1, threads}):
            setting = Setting(compute_type, 1, each, 0, "examples")
            request = {**setting.request(), "beam": beam}
            milliseconds(worker, request, 0)  # to warm up
            medians[setting] = float(np.median([milliseconds(worker, request, place) for place in range(count)]))
            print(f"trying CTranslate2: {setting!s:<60} {medians[setting]:10.2f} ms", file=sys.stderr, flush=True)
    return min(medians, key=lambda setting: medians[setting])


def measure(workers: Contenders, beam: int, arguments: argparse.Namespace, count: int) -> tuple[Rounds, Setting]:
    trial = min(count, TRIAL)
    best = best_setting(workers.ctranslate2, beam, arguments.threads, trial)
    asked = {
        OURS: (workers.pellucid, {"beam": beam}),
        THEIRS: (workers.ctranslate2, {**best.request(), "beam": beam}),
    }
    found: Rounds = {name: {"p50": [], "p99": []} for name in asked}
    for number in range(arguments.rounds + 1):
        times: dict[str, list[float]] = {name: [] for name in asked}
        for place in range(count if number else trial):
            for name, (worker, request) in asked.items():
                times[name].append(milliseconds(worker, request, place))
        for name, taken in times.items() if number else ():  # the first round was to warm up
            found[name]["p50"].append(float(np.percentile(taken, 50)))
            found[name]["p99"].append(float(np.percentile(taken, 99)))
    return found, best


def main() -> None:
    parser = options(__doc__, rounds=5)
    add_options(parser, sentences=300)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sentences, arguments.rounds = min(arguments.sentences, 10), 1
    source, _ = sentences(arguments.data, arguments.sentences)

    rows: list[list[str]] = []
    figures: dict[str, Any] = {"sentences": len(source)}
    goals: list[Goal] = []
    drawn: dict[str, Spread] = {}
    for directory in models(arguments):
        job = lay_out(directory, source, arguments.threads)
        with contenders(job, arguments.threads, quick=arguments.quick, hugging_face=False) as workers:
            for search, beam in SEARCHES.items():
                work = f"{find_name(directory)}, {search}"
                found, best = measure(workers, beam, arguments, len(source))
                figures[work] = {"setting": str(best)}
                for name in found:
                    drawn[f"{work}: {name}"] = spread(found[name]["p50"])
                for percentile in ("p50", "p99"):
                    ours, theirs = found[OURS][percentile], found[THEIRS][percentile]
                    ratio = ratios(ours, theirs)
                    figures[work][percentile] = {
                        OURS: spread(ours),
                        THEIRS: spread(theirs),
                        "pellucid_over_it": ratio,
                    }
                    rows.append(
                        [work, percentile, f"{spread(ours):.2f}", f"{spread(theirs):.2f}", f"{ratio:.3f}", str(best)]
                    )
                    what = f"{work}: {percentile} of pellucid over {THEIRS}"
                    goals.append(Goal(what, ratio, BAR, STRETCH, less_is_better=True))
    report(arguments, rows, figures, goals, drawn)


def report(
    arguments: argparse.Namespace,
    rows: Sequence[Sequence[str]],
    figures: dict[str, Any],
    goals: Sequence[Goal],
    drawn: dict[str, Spread],
) -> None:
    title = "Milliseconds of one sentence, text in, text out"
    columns = ["work", "percentile", OURS, "CTranslate2", "pellucid over it", "its setting"]
    made = Report("latency", title, columns, rows, figures, goals)
    made.show()
    made.save(arguments.out)
    bars(picture(arguments, "latency"), f"{title} (median)", list(drawn), list(drawn.values()), "milliseconds")


if __name__ == "__main__":
    main()
