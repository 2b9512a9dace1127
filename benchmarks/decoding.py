"""How many sentences a second are translated: Pellucid, CTranslate2 and Hugging Face, the same weights.

CTranslate2 takes part twice: as its documentation uses it, and in the setting that is fastest for it here, which is
searched for first on a part of the sentences: weights, workers and threads, then the size of its batches. With that
one, the nearest, Pellucid is compared in more rounds, the two of them alone, from which the figures of both are.

    python -m benchmarks.decoding --data DIR
    python -m benchmarks.decoding --data DIR --model runs/mine
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from benchmarks.drawing import publish
from benchmarks.harness import Goal, Report, Spread, interleave, options, ratios, spread
from benchmarks.peers.worker import Worker
from benchmarks.translators import COMPUTE_TYPES, Contenders, Setting, each_search, model_options, sentences
from pellucid.evaluation.metrics import bleu

OURS = "pellucid"
DOCUMENTED, BEST = "CTranslate2 as documented", "CTranslate2 at its best"
WEIGHTS, MARIAN = "Hugging Face, same weights (M2M100)", "Hugging Face, same shape (MarianMT)"
BARS = {DOCUMENTED: (1.5, None), BEST: (1.0, 1.3), WEIGHTS: (3.0, 4.0), MARIAN: (3.0, 4.0)}
BATCHES = [(rows, "examples") for rows in (16, 32, 64)] + [(tokens, "tokens") for tokens in (256, 512, 1024)]
ALONE = 25  # rounds at least of Pellucid and the nearest peer
TRIED, TRIED_BATCHES = 200, 500  # sentences on which a setting is tried; large batches show only if there are several
TRIALS = 3

Rates = dict[Setting, float]
"""Sentences a second."""


@dataclass
class Contender:
    """A worker, what it is asked, and what it answered last."""

    worker: Worker
    request: dict[str, Any]
    texts: Sequence[str] = ()
    lengths: Sequence[int] = ()

    def rate(self) -> float:
        """Sentences a second."""
        answer = self.worker.ask(self.request)
        self.texts, self.lengths = answer["texts"], answer["lengths"]
        return len(self.texts) / float(answer["seconds"])


def search(threads: int, rate: Callable[[Setting, int], float]) -> tuple[Rates, Rates]:
    """What CTranslate2's settings reach for this work on this machine; then the sizes of batches with the best of them.

    `rate` tries a setting on so many sentences.
    """
    opened = [
        Setting(compute_type, workers, threads // workers, 32, "examples")
        for compute_type in COMPUTE_TYPES
        for workers in sorted({1, threads}, reverse=True)  # the likely one first
    ]
    rates = try_out(opened, lambda setting: rate(setting, TRIED))
    sizes = [replace(fastest(rates), batch=size, batch_type=kind) for size, kind in BATCHES]
    return rates, try_out(sizes, lambda setting: rate(setting, TRIED_BATCHES))


def try_out(settings: Sequence[Setting], rate: Callable[[Setting], float]) -> Rates:
    """The medians of some trials, in turns; what is not half as fast as the best in the first one gets no more."""
    first = {setting: rate(setting) for setting in settings}
    near = [setting for setting in settings if first[setting] >= max(first.values()) / 2]
    more = [{setting: rate(setting) for setting in near} for _ in range(TRIALS - 1)]
    rates = first | {setting: median(turn[setting] for turn in (first, *more)) for setting in near}
    for setting, figure in rates.items():
        print(f"tried CTranslate2: {setting!s:<60} {figure:10,.1f}", file=sys.stderr, flush=True)
    return rates


def fastest(rates: Rates) -> Setting:
    return max(rates, key=lambda setting: rates[setting])


def part(count: int, least: int) -> list[int]:
    """Places evenly over so many sentences, at least so many of them, or all."""
    return list(range(0, count, max(1, count // least)))


def measure(
    workers: Contenders, beam: int, arguments: argparse.Namespace, references: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """What each contender did."""

    def trial(setting: Setting, sentences: int) -> float:
        request = {**setting.request(), "beam": beam, "places": part(len(references), sentences)}
        return Contender(workers.ctranslate2, request).rate()

    opened, batches = search(arguments.threads, trial)
    documented, best = Setting(threads=arguments.threads), fastest(batches)
    ours = Contender(workers.pellucid, {"beam": beam})
    taking_part = {
        OURS: ours,
        DOCUMENTED: Contender(workers.documented, {**documented.request(), "beam": beam}),
        BEST: Contender(workers.ctranslate2, {**best.request(), "beam": beam}),
    }
    if workers.weights:
        taking_part[WEIGHTS] = Contender(workers.weights, {"beam": beam})
    if workers.marian:
        # MarianMT's random weights have nothing to say: it takes as many steps as ours, whose end is a step too.
        ours.rate()
        steps = [length + 1 for length in ours.lengths]
        taking_part[MARIAN] = Contender(workers.marian, {"beam": beam, "steps": steps})
    rates = interleave({name: each.rate for name, each in taking_part.items()}, arguments.rounds)
    duel = {name: taking_part[name].rate for name in (OURS, BEST)}
    alone = interleave(duel, arguments.rounds if arguments.quick else max(ALONE, arguments.rounds))
    if MARIAN in taking_part:
        taking_part[MARIAN].lengths = ours.lengths  # more than a translation has, it said only to fill its batch
    about: dict[str, dict[str, Any]] = {}
    for name, each in taking_part.items():
        own, ours_beside = alone.get(name, rates[name]), alone[OURS] if name in alone else rates[OURS]
        about[name] = {
            "sentences_a_second": spread(own),
            "tokens_a_second": spread([rate * sum(each.lengths) / len(each.texts) for rate in own]),
            "bleu": None if name == MARIAN else bleu(each.texts, references).score,
            "pellucid_over_it": ratios(ours_beside, own),
        }
    about[BEST]["rounds_alone"] = alone
    about[DOCUMENTED]["setting"] = str(documented)
    about[BEST]["setting"] = str(best)
    about[BEST]["searched"] = {
        f"on {sentences} sentences": {str(setting): rate for setting, rate in tried.items()}
        for sentences, tried in ((TRIED, opened), (TRIED_BATCHES, batches))
    }
    return about


def main() -> None:
    parser = options(__doc__, rounds=3, parents=[model_options()])
    parser.add_argument("--sentences", type=int, default=1000, help="default: 1000")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sentences, arguments.rounds = 20, 1
    source, references = sentences(arguments.data, arguments.sentences)

    figures: dict[str, Any] = {"sentences": len(source)}
    rows: list[list[str]] = []
    goals: list[Goal] = []
    drawn: dict[str, Spread] = {}
    for work, beam, workers in each_search(arguments, source, hugging_face=not arguments.quick):
        figures[work] = measure(workers, beam, arguments, references)
        for name, about in figures[work].items():
            drawn[f"{work}: {name}"] = about["sentences_a_second"]
            rows.append(_row(work, name, about))
            if name in BARS:
                goals.append(Goal(f"{work}: pellucid over {name}", about["pellucid_over_it"], *BARS[name]))
    columns = ["work", "contender", "sentences/s", "tokens/s", "pellucid over it", "BLEU"]
    report = Report("decoding", "Sentences a second, text in, text out", columns, rows, figures, goals)
    publish(report, arguments, drawn, "sentences a second")


def _row(work: str, name: str, about: dict[str, Any]) -> list[str]:
    score = f"{about['bleu']:.2f}" if about["bleu"] is not None else "-"
    rates = [f"{about[f'{what}_a_second']:,.0f}" for what in ("sentences", "tokens")]
    return [work, name, *rates, f"{about['pellucid_over_it']:.2f}", score]


if __name__ == "__main__":
    main()
