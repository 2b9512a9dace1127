"""How much memory training takes: the most that a process ever held, after some updates of the tiny work.

    python -m benchmarks.training_memory --data DIR

Each contender runs as its users run it, in a process of its own. Memory does not depend on the moment, so they need not
take turns; each is measured `--rounds` times.
"""

from __future__ import annotations

import sys

from benchmarks import works
from benchmarks.drawing import publish
from benchmarks.harness import Goal, Report, options, ratios, spread
from benchmarks.peers.worker import Worker
from benchmarks.training import PEERS, PELLUCID, peer_worker, pellucid_worker, without
from pellucid.errors import UserError

WORK = works.TINY
UPDATES = 30


def peak_mb(worker: Worker, updates: int) -> float:
    with worker:
        return float(worker.ask({"updates": updates})["peak_mb"])


def main() -> None:
    arguments = options(__doc__, rounds=3).parse_args()
    rounds, updates = (1, 3) if arguments.quick else (arguments.rounds, UPDATES)
    folder = works.lay_out(WORK, arguments.data, updates + 1, arguments.threads, arguments.quick)
    peaks = {PELLUCID: [peak_mb(pellucid_worker(WORK, folder, arguments.threads), updates) for _ in range(rounds)]}
    left_out = []
    for peer in () if arguments.quick else PEERS:
        try:
            peaks[peer] = [peak_mb(peer_worker(peer, folder, arguments.threads), updates) for _ in range(rounds)]
        except UserError as error:
            print(f"{peer} is left out: {error}", file=sys.stderr)
            left_out.append(peer)
    spreads = {name: spread(values) for name, values in peaks.items()}
    others = [name for name in peaks if name != PELLUCID]
    goals = []
    if others:
        best = min(others, key=lambda name: spreads[name].median)
        what = f"peak memory of training {WORK.title}, as a share of the best peer's ({best}{without(left_out)})"
        goals.append(Goal(what, ratios(peaks[PELLUCID], peaks[best]), 1.0, less_is_better=True))
    rows = [[name, f"{each:,.0f}"] for name, each in sorted(spreads.items(), key=lambda item: item[1].median)]
    found = Report(
        "training_memory",
        f"Peak memory of training {WORK.title}, MB",
        ("contender", "MB"),
        [*rows, *([peer, "did not run"] for peer in left_out)],
        {"peak_mb": peaks, "left_out": left_out, "updates": updates},
        goals,
    )
    publish(found, arguments, spreads, "MB at most")


if __name__ == "__main__":
    main()
