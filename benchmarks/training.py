"""How fast a model learns: real source and target tokens a second of training, beside the peers.

    python -m benchmarks.training --data DIR              both works
    python -m benchmarks.training --work tiny             one of them, on generated text

Every contender trains a model of the same shape on the same pairs with the same vocabulary, AdamW, label smoothing and
dropout; those that take batches get Pellucid's own. A peer is measured as its users run it; the tiny ones, where it
matters, also with the C library told to keep freed memory, as Pellucid tells it for itself. Also shown: the share of
the measured matrix product rate that Pellucid's training reaches. Run it on an otherwise idle machine; the base work
holds up to five models at a time and wants 16 GB.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks import works
from benchmarks.drawing import bars
from benchmarks.harness import Goal, Report, Spread, interleave, matmul_rate, options, picture, ratios, spread
from benchmarks.peers.environments import environment
from benchmarks.peers.worker import Worker
from benchmarks.works import Work
from pellucid.errors import UserError

WORKS = {work.name: work for work in (works.TINY, works.BASE)}
PEERS = {  # name: environment and module
    "Hugging Face MarianMT": ("transformers", "benchmarks.peers.marian_train"),
    "torch.nn.Transformer": ("transformers", "benchmarks.peers.torch_train"),
    "JoeyNMT": ("joeynmt", "benchmarks.peers.joeynmt_train"),
    "eole": ("eole", "benchmarks.peers.eole_train"),
}
PELLUCID, MATMUL = "Pellucid", "matrix product, GFLOP/s"
USERS, ALLOCATOR = "as its users run it", "same allocator settings"
KEEP = str(2**30)
WAYS: dict[str, dict[str, str]] = {  # glibc's own names of what mallopt sets
    USERS: {},
    ALLOCATOR: {"MALLOC_MMAP_THRESHOLD_": KEEP, "MALLOC_TRIM_THRESHOLD_": KEEP},
}
BARS = {  # (bar, stretch): times the best peer in both ways, and share of the matrix product rate in percent
    "tiny": {USERS: (1.5, 2.0), ALLOCATOR: (1.15, 1.5), MATMUL: (45.0, 60.0)},
    "base": {USERS: (1.2, 1.5), MATMUL: (60.0, 75.0)},
}


@dataclass(frozen=True)
class Rates:
    """Tokens a second (and GFLOP/s of the matrix product) of every contender, round by round, in one way."""

    figures: Mapping[str, list[float]]
    update_tokens: Mapping[str, list[float]] = field(default_factory=dict)  # real ones of an update, round by round
    left_out: Sequence[str] = ()  # peers that did not run

    def ratio(self, peer: str) -> Spread:
        return ratios(self.figures[PELLUCID], self.figures[peer])

    @property
    def peers(self) -> list[str]:
        return [name for name in self.figures if name not in (PELLUCID, MATMUL)]

    @property
    def fastest_first(self) -> list[str]:
        return sorted(self.peers, key=lambda name: spread(self.figures[name]).median, reverse=True)


def pellucid_worker(work: Work, folder: Path, threads: int) -> Worker:
    """Pellucid sets its allocator by itself: it runs in one way only."""
    return Worker(sys.executable, "benchmarks.peers.pellucid_train", [work.name, folder, str(threads)], threads=threads)


def peer_worker(peer: str, folder: Path, threads: int, way: str = USERS) -> Worker:
    name, module = PEERS[peer]
    return Worker(environment(name), module, [folder], threads=threads, environment=WAYS[way])


@dataclass(frozen=True)
class Contender:
    """A worker that trains, and how many real tokens an update of it had, each time that it was asked."""

    worker: Worker
    updates: int  # at a time
    update_tokens: list[float] = field(default_factory=list)

    def tokens_a_second(self) -> float:
        answer = self.worker.ask({"updates": self.updates})
        self.update_tokens.append(answer["tokens"] / self.updates)
        return float(answer["tokens"] / answer["seconds"])


def measure(work: Work, folder: Path, way: str, arguments: argparse.Namespace) -> Rates:
    """All contenders in turns, the peers in the given way."""
    threads, updates = arguments.threads, 2 if arguments.quick else work.updates
    left_out = []
    with ExitStack() as workers:
        ours = workers.enter_context(pellucid_worker(work, folder, threads))
        contenders = {PELLUCID: Contender(ours, updates)}
        for peer in () if arguments.quick else PEERS:
            try:
                worker = workers.enter_context(peer_worker(peer, folder, threads, way))
                worker.ask({"updates": 1})  # whatever does not start, does not start here
                contenders[peer] = Contender(worker, updates)
            except UserError as error:
                print(f"{peer} is left out: {error}", file=sys.stderr)
                left_out.append(peer)
        turns: dict[str, Callable[[], float]] = {MATMUL: partial(matmul_rate, threads)}
        turns |= {name: each.tokens_a_second for name, each in contenders.items()}
        figures = interleave(turns, arguments.rounds)
    return Rates(figures, {name: each.update_tokens for name, each in contenders.items()}, left_out)


def without(left_out: Sequence[str]) -> str:
    """Who is missing from a comparison, to be said beside it."""
    return f"; did not run: {', '.join(left_out)}" if left_out else ""


def report(work: Work, rates: Mapping[str, Rates], flop: float) -> Report:
    """The table, the figures and the goals of one work."""
    users = rates[USERS]
    share = spread(
        [
            100 * tokens * flop / (gigaflops * 1e9)
            for tokens, gigaflops in zip(users.figures[PELLUCID], users.figures[MATMUL], strict=True)
        ]
    )
    rows = [[PELLUCID, "", f"{spread(users.figures[PELLUCID]):,.0f}", ""]]
    goals = []
    for way, each in rates.items():
        rows += [
            [peer, way, f"{spread(each.figures[peer]):,.0f}", f"{each.ratio(peer):.2f}"] for peer in each.fastest_first
        ]
        rows += [[peer, way, "did not run", ""] for peer in each.left_out]
        if each.peers and way in BARS[work.name]:
            best = each.fastest_first[0]
            bar, stretch = BARS[work.name][way]
            what = f"{work.title}: times the best peer, {way} ({best}{without(each.left_out)})"
            goals.append(Goal(what, each.ratio(best), bar, stretch))
    bar, stretch = BARS[work.name][MATMUL]
    goals.append(Goal(f"{work.title}: share of the matrix product rate", share, bar, stretch, unit="%"))
    figures = {
        "tokens_a_second": {way: each.figures for way, each in rates.items()},
        "update_tokens": {way: each.update_tokens for way, each in rates.items()},
        "left_out": {way: each.left_out for way, each in rates.items()},
        "flop_a_token": flop,
        "share_of_matmul_rate": share,
    }
    columns = ("contender", "way", "tokens a second", "Pellucid is so many times as fast")
    return Report(f"training-{work.name}", f"Training {work.title}", columns, rows, figures, goals)


def draw(path: Path, work: Work, rates: Mapping[str, Rates]) -> None:
    labels, spreads = [PELLUCID], [spread(rates[USERS].figures[PELLUCID])]
    for way, each in rates.items():
        for peer in each.peers:
            labels.append(peer if way == USERS else f"{peer}, {way}")
            spreads.append(spread(each.figures[peer]))
    bars(path, f"Training {work.title}", labels, spreads, "source and target tokens a second")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--work", choices=[*WORKS], action="append", help="only this one; may be given twice")
    arguments = parser.parse_args()
    rounds = arguments.rounds = 2 if arguments.quick else arguments.rounds
    for name in arguments.work or (["tiny"] if arguments.quick else [*WORKS]):
        work = WORKS[name]
        count = (rounds + 1) * work.updates + 2  # with the warm-up and the one to see whether it starts
        folder = works.lay_out(work, arguments.data, count, arguments.threads, arguments.quick)
        batches = works.first_batches(works.prepared_data(folder, work, arguments.threads), work, count)
        flop = works.flop_a_token(work.model, batches)
        ways = [USERS] if arguments.quick else [way for way in WAYS if way in BARS[name]]
        rates = {way: measure(work, folder, way, arguments) for way in ways}
        found = report(work, rates, flop)
        found.show()
        found.save(arguments.out)
        draw(picture(arguments, found.name), work, rates)


if __name__ == "__main__":
    main()
