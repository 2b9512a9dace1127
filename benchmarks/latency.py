"""How long one sentence takes that comes alone: Pellucid and CTranslate2 in its best setting for that.

Sentence by sentence in turns. Before each turn both processes rest for a moment: threads that are done with their work
go on spinning for a while, and would be in the way of the other.

    python -m benchmarks.latency --data DIR
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from benchmarks.drawing import publish
from benchmarks.harness import Goal, Report, Spread, options, ratios, spread
from benchmarks.peers.worker import Worker
from benchmarks.translators import COMPUTE_TYPES, Contenders, Setting, each_search, model_options, sentences

OURS, THEIRS = "pellucid", "CTranslate2 at its best"
REST = 0.005  # seconds
BAR, STRETCH = 1.05, 1.0
TRIAL = 60  # sentences on which CTranslate2's settings are tried

Rounds = dict[str, dict[str, list[float]]]
"""Contender -> percentile -> milliseconds, round by round."""


def milliseconds(worker: Worker, request: dict[str, Any], place: int) -> float:
    time.sleep(REST)
    return 1000 * float(worker.ask({**request, "places": [place]})["seconds"])


def search(worker: Worker, beam: int, threads: int, count: int) -> dict[Setting, float]:
    """The median of single sentences in each of CTranslate2's settings."""
    medians: dict[Setting, float] = {}
    for compute_type in COMPUTE_TYPES:
        for each in sorted({1, threads}):
            setting = Setting(compute_type, 1, each, 0, "examples")
            request = {**setting.request(), "beam": beam}
            milliseconds(worker, request, 0)  # to warm up
            medians[setting] = float(np.median([milliseconds(worker, request, place) for place in range(count)]))
            print(f"trying CTranslate2: {setting!s:<60} {medians[setting]:10.2f} ms", file=sys.stderr, flush=True)
    return medians


def measure(workers: Contenders, beam: int, best: Setting, rounds: int, count: int) -> Rounds:
    asked = {
        OURS: (workers.pellucid, {"beam": beam}),
        THEIRS: (workers.ctranslate2, {**best.request(), "beam": beam}),
    }
    found: Rounds = {name: {"p50": [], "p99": []} for name in asked}
    for number in range(rounds + 1):
        times: dict[str, list[float]] = {name: [] for name in asked}
        for place in range(count if number else min(count, TRIAL)):
            for name, (worker, request) in asked.items():
                times[name].append(milliseconds(worker, request, place))
        for name, taken in times.items() if number else ():  # the first round was to warm up
            found[name]["p50"].append(float(np.percentile(taken, 50)))
            found[name]["p99"].append(float(np.percentile(taken, 99)))
    return found


def main() -> None:
    parser = options(__doc__, rounds=5, parents=[model_options()])
    parser.add_argument("--sentences", type=int, default=300, help="default: 300")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sentences, arguments.rounds = 10, 1
    source, _ = sentences(arguments.data, arguments.sentences)

    figures: dict[str, Any] = {"sentences": len(source)}
    rows: list[list[str]] = []
    goals: list[Goal] = []
    drawn: dict[str, Spread] = {}
    for work, beam, workers in each_search(arguments, source):
        medians = search(workers.ctranslate2, beam, arguments.threads, min(len(source), TRIAL))
        best = min(medians, key=lambda setting: medians[setting])
        found = measure(workers, beam, best, arguments.rounds, len(source))
        figures[work] = {
            "setting": str(best),
            "searched": {str(setting): median for setting, median in medians.items()},
        }
        for name in found:
            drawn[f"{work}: {name}"] = spread(found[name]["p50"])
        for percentile in ("p50", "p99"):
            ours, theirs = found[OURS][percentile], found[THEIRS][percentile]
            ratio = ratios(ours, theirs)
            figures[work][percentile] = {OURS: spread(ours), THEIRS: spread(theirs), "pellucid_over_it": ratio}
            rows.append([work, percentile, f"{spread(ours):.2f}", f"{spread(theirs):.2f}", f"{ratio:.3f}", str(best)])
            what = f"{work}: {percentile} of pellucid over {THEIRS}"
            goals.append(Goal(what, ratio, BAR, STRETCH, less_is_better=True))
    columns = ["work", "percentile", OURS, "CTranslate2", "pellucid over it", "its setting"]
    report = Report("latency", "Milliseconds of one sentence, text in, text out", columns, rows, figures, goals)
    publish(report, arguments, drawn, "milliseconds, median")


if __name__ == "__main__":
    main()
