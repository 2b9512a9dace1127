"""How time and memory grow with the length of sentences, the batch, the vocabulary and the corpus.

    python -m benchmarks.growth
    python -m benchmarks.growth --pairs 20000000      a corpus of that size too: an hour, and 20 GB of disk

The cost of a token should be flat but for attention, whose work grows with the length; memory should be flat by the
corpus, which is on disk. Every point is measured in a process of its own; the sweeps are gone through in rounds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.drawing import panels
from benchmarks.growth_point import Point
from benchmarks.harness import CACHE, Goal, Report, Spread, options, picture, ratios, spread
from benchmarks.peers.worker import Worker

TOKENS = 2048  # of each side of a batch, where the length grows: the batch has fewer sentences then
DECODED = 16  # sentences, where the length grows
SHORT = 64  # from here on a length is compared: below, what is done once a batch still shows


@dataclass(frozen=True)
class Sizes:
    lengths: Sequence[int] = (16, 32, 64, 128, 256, 512, 1024, 2048)
    sentences: Sequence[int] = (1, 4, 16, 64, 256)
    vocabularies: Sequence[int] = (1000, 4000, 8000, 16_000, 32_000)
    pairs: Sequence[int] = (10_000, 100_000, 1_000_000)
    seconds: float = 2.0
    updates: int = 20


QUICK = Sizes((16, 64), (4,), (Point.vocabulary,), (1000, 3000), seconds=0.2, updates=2)


@dataclass
class Curve:
    """What rounds of measurements gave at each place of a sweep."""

    answers: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, place: int, answer: dict[str, Any]) -> None:
        self.answers.setdefault(place, []).append(answer)

    def values(self, place: int, name: str) -> list[float]:
        return [answer[name] for answer in self.answers[place]]

    def points(self, name: str) -> list[tuple[float, Spread]]:
        return [(place, spread(self.values(place, name))) for place in self.answers]


Curves = dict[str, Curve]  # of one sweep


def ask(threads: int, cache: Path, **request: Any) -> dict[str, Any]:
    """The answer of a fresh process."""
    environment = {"PELLUCID_CACHE": str(cache)}
    with Worker(
        sys.executable, "benchmarks.growth_point", [str(threads)], threads=threads, environment=environment
    ) as worker:
        answer: dict[str, Any] = worker.ask(request)
    return answer


def sweep(sizes: Sizes, rounds: int, threads: int, folder: Path) -> dict[str, Curves]:
    """Training steps and greedy search by length, by sentences in a batch and by vocabulary."""
    models = {
        size: ask(threads, folder, do="model", folder=str(folder), vocabulary=size)
        for size in {*sizes.vocabularies, Point.vocabulary}
    }
    plans: dict[str, tuple[Sequence[int], Callable[[int], tuple[Point, Point]]]] = {
        "length": (
            sizes.lengths,
            lambda n: (Point(length=n, sentences=max(1, TOKENS // n)), Point(length=n, sentences=DECODED)),
        ),
        "sentences": (sizes.sentences, lambda n: (Point(sentences=n), Point(sentences=n))),
        "vocabulary": (sizes.vocabularies, lambda n: (Point(vocabulary=n), Point(vocabulary=n))),
    }
    curves: dict[str, Curves] = {name: {"training step": Curve(), "greedy search": Curve()} for name in plans}
    for number in range(rounds):
        for name, (places, points) in plans.items():
            for place in places:
                trained, decoded = points(place)
                model = models[decoded.vocabulary]
                decoded = replace(decoded, vocabulary=model["vocabulary"])  # the text may not have had as many
                step = ask(threads, folder, do="train", point=asdict(trained), seconds=sizes.seconds)
                greedy = ask(
                    threads, folder, do="decode", point=asdict(decoded), model=model["model"], seconds=sizes.seconds
                )
                curves[name]["training step"].add(place, step)
                curves[name]["greedy search"].add(place, greedy)
                told = f"{name} {place}: {step['microseconds']:.1f} and {greedy['microseconds']:.1f} µs a token"
                print(f"round {number + 1} of {rounds}  {told}", file=sys.stderr, flush=True)
    return curves


def corpora_of(sizes: Sizes, threads: int, folder: Path) -> Curves:
    """Reading and storing a corpus, then training on the store, by the number of pairs."""
    storing, training = Curve(), Curve()
    for pairs in sizes.pairs:
        with TemporaryDirectory(dir=folder) as place:
            files = {side: str(Path(place) / side) for side in ("source", "target")}
            ask(threads, Path(place), do="write", pairs=pairs, **files)
            stored = ask(threads, Path(place), do="corpus", updates=0, **files)
            trained = ask(threads, Path(place), do="corpus", updates=sizes.updates, **files)
        stored["microseconds"] = 1e6 * stored["prepared"] / pairs
        storing.add(pairs, stored)
        training.add(pairs, trained)
        told = f"{stored['peak_mb']:.0f} MB to store, {trained['peak_mb']:.0f} MB to train"
        print(f"{pairs:,} pairs: {told}", file=sys.stderr, flush=True)
    return {"reading and storing": storing, "training": training}


def goals(sizes: Sizes, curves: dict[str, Curves]) -> list[Goal]:
    """Flat, said in numbers."""
    step = curves["length"]["training step"]
    compared = [n for n in sizes.lengths if n >= SHORT]
    short, long = compared[0], compared[-1]
    beyond = [
        (there["microseconds"] / here["microseconds"]) / (there["flop"] / here["flop"])
        for here, there in zip(step.answers[short], step.answers[long], strict=True)
    ]
    training = curves["corpus"]["training"]
    few, many = sizes.pairs[0], sizes.pairs[-1]
    memory = ratios(training.values(many, "peak_mb"), training.values(few, "peak_mb"))
    what = f"cost of a token in training, {long:,} tokens a sentence over {short}, for the multiply-adds it takes"
    return [
        Goal(what, spread(beyond), bar=1.5, less_is_better=True),
        Goal(f"peak memory of training, {many:,} pairs over {few:,}", memory, bar=1.25, less_is_better=True),
    ]


TITLES = {
    "length": "by tokens of a sentence",
    "sentences": "by sentences of a batch (32 tokens each)",
    "vocabulary": "by vocabulary",
    "corpus": "by pairs of the corpus",
}


def draw(path: Path, curves: dict[str, Curves]) -> None:
    """Time at the left, memory at the right."""
    drawn = []
    for name, several in curves.items():
        times = {label: curve.points("microseconds") for label, curve in several.items()}
        if name == "length":
            times["the multiply-adds of training, from the first point"] = _work(several["training step"])
        if name == "corpus":
            times = {
                "reading and storing, a pair": times["reading and storing"],
                "training, a token": times["training"],
            }
        memory = {label: curve.points("peak_mb") for label, curve in several.items()}
        label = "µs" if name == "corpus" else "µs a token"
        drawn += [
            {"title": TITLES[name], "curves": times, "x_label": name, "y_label": label},
            {"title": TITLES[name], "curves": memory, "x_label": name, "y_label": "peak memory, MB"},
        ]
    panels(path, drawn)


def _work(step: Curve) -> list[tuple[float, Spread]]:
    """How the time of a token would grow if it grew like its multiply-adds."""
    places = list(step.answers)
    first = spread(step.values(places[0], "microseconds")).median / step.values(places[0], "flop")[0]
    return [(place, spread([first * step.values(place, "flop")[0]])) for place in places]


def rows(curves: dict[str, Curves]) -> list[list[str]]:
    made = []
    for name, several in curves.items():
        for label, curve in several.items():
            for place in curve.answers:
                time, memory = (spread(curve.values(place, key)) for key in ("microseconds", "peak_mb"))
                made.append([name, label, f"{place:,}", f"{time.median:,.1f}", f"{memory.median:,.0f}"])
    return made


def main() -> None:
    parser = options(__doc__, rounds=3)
    parser.add_argument("--pairs", type=int, help="also train on a corpus of so many pairs")
    arguments: argparse.Namespace = parser.parse_args()
    sizes = QUICK if arguments.quick else Sizes()
    if arguments.pairs:
        sizes = replace(sizes, pairs=sorted({*sizes.pairs, arguments.pairs}))
    folder = CACHE / "growth"
    folder.mkdir(parents=True, exist_ok=True)
    curves = sweep(sizes, 1 if arguments.quick else arguments.rounds, arguments.threads, folder)
    curves["corpus"] = corpora_of(sizes, arguments.threads, folder)
    figures = {name: {label: curve.answers for label, curve in several.items()} for name, several in curves.items()}
    columns = ["by", "of", "size", "µs a token (a pair, to store)", "peak MB"]
    report = Report("growth", "Growth of time and memory", columns, rows(curves), figures, goals(sizes, curves))
    report.show()
    report.save(arguments.out)
    draw(picture(arguments, "growth"), curves)


if __name__ == "__main__":
    main()
