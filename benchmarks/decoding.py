"""How many sentences a second are translated: Pellucid, CTranslate2 and Hugging Face, the same weights.

CTranslate2 takes part twice: as its documentation uses it, and in the setting that is fastest for it here, which is
searched for first: weights, workers and threads, then the size of its batches.

    python -m benchmarks.decoding --data DIR
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.drawing import bars
from benchmarks.harness import Goal, Report, Spread, interleave, options, picture, ratios, spread
from benchmarks.peers.worker import Worker
from benchmarks.translators import Contenders, Setting, add_options, contenders, find_name, lay_out, models, sentences
from pellucid.metrics import bleu

SEARCHES = {"greedy": 1, "beam 5": 5}
OURS = "pellucid"
DOCUMENTED, BEST = "CTranslate2 as documented", "CTranslate2 at its best"
WEIGHTS, MARIAN = "Hugging Face, same weights (M2M100)", "Hugging Face, same shape (MarianMT)"
BARS = {DOCUMENTED: (1.5, None), BEST: (1.0, 1.3), WEIGHTS: (3.0, 4.0), MARIAN: (3.0, 4.0)}
BATCHES = [(rows, "examples") for rows in (4, 8, 16, 32, 64)] + [(tokens, "tokens") for tokens in (256, 512, 1024)]


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


def best_setting(worker: Worker, beam: int, threads: int) -> Setting:
    """The fastest of CTranslate2's settings for this work on this machine."""

    def rate(setting: Setting) -> float:
        contender = Contender(worker, {**setting.request(), "beam": beam})
        return max(contender.rate() for _ in range(2))

    opened = [
        Setting(compute_type, workers, threads // workers, 16, "examples")
        for compute_type in ("int8", "int8_float32", "float32")
        for workers in {1, threads}
    ]
    first = _fastest(opened, rate)
    return _fastest([replace(first, batch=size, batch_type=kind) for size, kind in BATCHES], rate)


def _fastest(settings: Sequence[Setting], rate: Callable[[Setting], float]) -> Setting:
    rates = {setting: rate(setting) for setting in settings}
    for setting, figure in rates.items():
        print(f"trying CTranslate2: {setting!s:<60} {figure:10,.1f}", file=sys.stderr, flush=True)
    return max(rates, key=lambda setting: rates[setting])


def measure(
    workers: Contenders, beam: int, arguments: argparse.Namespace, references: Sequence[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, list[float]]]:
    """What each contender did, and its sentences a second, round by round."""
    ours = Contender(workers.pellucid, {"beam": beam})
    ours.rate()
    best = Setting() if arguments.quick else best_setting(workers.ctranslate2, beam, arguments.threads)
    documented = Setting(threads=arguments.threads)
    taking_part = {
        OURS: ours,
        DOCUMENTED: Contender(workers.ctranslate2, {**documented.request(), "beam": beam}),
        BEST: Contender(workers.ctranslate2, {**best.request(), "beam": beam}),
    }
    if workers.weights:
        taking_part[WEIGHTS] = Contender(workers.weights, {"beam": beam})
    if workers.marian:
        # MarianMT's random weights have nothing to say: it takes as many steps as ours, whose end is a step too.
        steps = [length + 1 for length in ours.lengths]
        taking_part[MARIAN] = Contender(workers.marian, {"beam": beam, "steps": steps})
    rates = interleave({name: each.rate for name, each in taking_part.items()}, arguments.rounds)
    if MARIAN in taking_part:
        taking_part[MARIAN].lengths = ours.lengths  # more than a translation has, it said only to fill its batch
    about: dict[str, dict[str, Any]] = {
        name: {
            "sentences_a_second": spread(rates[name]),
            "tokens_a_second": spread([rate * sum(each.lengths) / len(each.texts) for rate in rates[name]]),
            "bleu": None if name == MARIAN else bleu(each.texts, references).score,
        }
        for name, each in taking_part.items()
    }
    about[DOCUMENTED]["setting"], about[BEST]["setting"] = str(documented), str(best)
    return about, rates


def main() -> None:
    parser = options(__doc__, rounds=5)
    add_options(parser, sentences=1000)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sentences, arguments.rounds = min(arguments.sentences, 20), 1
    source, references = sentences(arguments.data, arguments.sentences)

    rows: list[list[str]] = []
    figures: dict[str, Any] = {"sentences": len(source)}
    goals: list[Goal] = []
    drawn: dict[str, Spread] = {}
    for directory in models(arguments):
        job = lay_out(directory, source, arguments.threads)
        with contenders(job, arguments.threads, quick=arguments.quick, hugging_face=not arguments.quick) as workers:
            for search, beam in SEARCHES.items():
                work = f"{find_name(directory)}, {search}"
                about, rates = measure(workers, beam, arguments, references)
                figures[work] = about
                for name, each in about.items():
                    ratio = ratios(rates[OURS], rates[name])
                    each["pellucid_over_it"] = ratio
                    drawn[f"{work}: {name}"] = each["sentences_a_second"]
                    rows.append(_row(work, name, each, ratio))
                    if name in BARS:
                        bar, stretch = BARS[name]
                        goals.append(Goal(f"{work}: pellucid over {name}", ratio, bar, stretch))
    report(arguments, rows, figures, goals, drawn)


def _row(work: str, name: str, about: dict[str, Any], ratio: Spread) -> list[str]:
    score = f"{about['bleu']:.2f}" if about["bleu"] is not None else "-"
    rates = [f"{about[f'{what}_a_second']:,.0f}" for what in ("sentences", "tokens")]
    return [work, name, *rates, f"{ratio:.2f}", score]


def report(
    arguments: argparse.Namespace,
    rows: Sequence[Sequence[str]],
    figures: dict[str, Any],
    goals: Sequence[Goal],
    drawn: dict[str, Spread],
) -> None:
    title = "Sentences a second, text in, text out"
    columns = ["work", "contender", "sentences/s", "tokens/s", "pellucid over it", "BLEU"]
    made = Report("decoding", title, columns, rows, figures, goals)
    made.show()
    made.save(arguments.out)
    path: Path = picture(arguments, "decoding")
    bars(path, title, list(drawn), list(drawn.values()), "sentences a second")


if __name__ == "__main__":
    main()
