"""C19: greedy search may miss the best sequence, a beam finds likelier ones, sampling finds other ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from pellucid.config import DecodeConfig
from pellucid.decode.hypotheses import Hypothesis, Sentence
from pellucid.decode.translator import Translator, load
from pellucid.evaluation.metrics import bleu, chrf
from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series, table
from pellucid.labs.parts.intervals import Interval, interval, paired
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.labs.parts.sentences import SENTENCES

WIDTHS = (1, 2, 5, 10, 30, 100)
PENALTIES = (0.0, 1.0)
COMPARED = 5  # the width that is compared with greedy search, without a length penalty
SAMPLING: dict[str, dict[str, Any]] = {
    "top-k 5": {"top_k": 5},
    "top-k 50": {"top_k": 50},
    "top-p 0.5": {"top_p": 0.5},
    "top-p 0.9": {"top_p": 0.9},
    "all tokens": {},
}
CHUNK = 50  # hypotheses between two reports of progress, but at least 5 sentences
LIKELIER = 0.01  # in log-probability: less may be rounding
BETTER = 0.1  # share of the sentences in which the beam has to find a likelier translation
FALL = 1.0  # points of BLEU below the best width


class Settings(LabConfig):
    sentences: int = setting(100, "sentences translated from English to German", minimum=2, maximum=len(SENTENCES))
    sampled: int = setting(20, "sentences of these that are translated by sampling", minimum=1, maximum=len(SENTENCES))
    widest: int = setting(100, "widest beam", minimum=5, maximum=200)


@dataclass
class Run:
    """What one rule made of all sentences."""

    texts: list[str] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def summary(self, references: Sequence[str]) -> Data:
        return {
            "log_prob": sum(self.log_probs) / len(self.log_probs),
            "bleu": bleu(self.texts, references).score,
            "tokens": sum(self.tokens) / len(self.tokens),
        }

    def first(self, count: int) -> Run:
        """Of the first sentences only."""
        return Run(self.texts[:count], self.log_probs[:count], self.tokens[:count])


def measure(config: Settings) -> Steps[Data]:
    translator = load("en-de")
    english, german = zip(*SENTENCES[: config.sentences], strict=True)
    sources = [Sentence(tuple(translator.tokenizers.encode_source(text, "de")), (), "de") for text in english]
    greedy = yield from _search(translator, sources, {"strategy": "greedy"}, Progress(0.0))
    timing: Data = {"greedy": greedy.seconds}
    widths = [width for width in WIDTHS if width <= config.widest]
    beams: dict[str, dict[int, Run]] = {}
    for place, penalty in enumerate(PENALTIES):
        found = beams[f"{penalty:g}"] = {}
        for number, width in enumerate(widths):
            decode: dict[str, Any] = {"beam": 1 if config.broken else width, "length_penalty": penalty}
            now = Progress((place + number / len(widths)) / 3, f"length penalty {penalty:g}", width)
            found[width] = yield from _search(translator, sources, decode, now)
        timing[f"{penalty:g}"] = [run.seconds for run in found.values()]
    samples: dict[str, list[Run]] = {name: [] for name in SAMPLING}
    for number, (name, settings) in enumerate(SAMPLING.items()):
        for seed in config.all_seeds:
            decode = {"strategy": "sample", "seed": seed, **settings}
            now = Progress((2 + number / len(SAMPLING)) / 3)
            samples[name].append((yield from _search(translator, sources[: config.sampled], decode, now)))
        timing[name] = [run.seconds for run in samples[name]]
    compared = beams["0"][COMPARED]
    return {
        "sentences": config.sentences,
        "widths": widths,
        "log_probs": {"greedy": greedy.log_probs, "beam": compared.log_probs},
        "beams": {name: [run.summary(german) for run in found.values()] for name, found in beams.items()},
        "samples": {name: [run.summary(german[: config.sampled]) for run in runs] for name, runs in samples.items()},
        "greedy_of_sampled": greedy.first(config.sampled).summary(german[: config.sampled]),
        "different": {name: different(runs) for name, runs in samples.items()},
        "examples": examples(greedy, compared, english, german),
        "timing": timing,
    }


def _search(translator: Translator, sources: list[Sentence], settings: dict[str, Any], now: Progress) -> Steps[Run]:
    """Search for every sentence by the engine that the product chooses."""
    config = DecodeConfig(**({"length_penalty": 0.0} | settings))
    engine, run = translator.engine(config), Run()
    chunk = max(5, CHUNK // (config.beam if config.strategy == "beam" else 1))
    for first in range(0, len(sources), chunk):
        start = perf_counter()
        found = [best for best, *_ in engine.search(sources[first : first + chunk], config)]
        run.seconds += perf_counter() - start
        run.texts += translator.tokenizers.target.decode_batch([hypothesis.tokens for hypothesis in found])
        run.log_probs += [log_prob(hypothesis, config.length_penalty) for hypothesis in found]
        run.tokens += [len(hypothesis.tokens) for hypothesis in found]
        mean = sum(run.log_probs) / len(run.log_probs)
        yield now._replace(y=mean) if now.curve and first + chunk >= len(sources) else Progress(now.done)
    return run


def log_prob(hypothesis: Hypothesis, length_penalty: float) -> float:
    """Of the whole sequence: the score without its division by the length."""
    return float(hypothesis.score * len(hypothesis.with_end) ** length_penalty)


def different(runs: Sequence[Run]) -> float:
    """How many different translations of a sentence the runs made, as a share of what they could make."""
    counts = [len(set(texts)) for texts in zip(*(run.texts for run in runs), strict=True)]
    return sum(counts) / (len(counts) * len(runs))


def examples(greedy: Run, beam: Run, english: Sequence[str], german: Sequence[str]) -> list[Data]:
    """Sentences of which the beam found a likelier translation that is also nearer to the reference, the most first."""
    found: list[Data] = []
    for place, (source, reference) in enumerate(zip(english, german, strict=True)):
        texts = [run.texts[place] for run in (greedy, beam)]
        log_probs = [run.log_probs[place] for run in (greedy, beam)]
        nearness = [chrf([text], [reference]).score for text in texts]
        if log_probs[1] > log_probs[0] + LIKELIER and nearness[1] > nearness[0]:
            found.append(
                {
                    "source": source, "reference": reference, "greedy": texts[0], "beam": texts[1],
                    "log_prob": log_probs, "chrf": nearness,
                }
            )  # fmt: skip
    return sorted(found, key=lambda each: each["chrf"][0] - each["chrf"][1])[:3]


def gain(data: Data) -> tuple[Interval, float]:
    """By how much the beam is likelier than greedy search, and in which share of the sentences it is."""
    beam, greedy = data["log_probs"]["beam"], data["log_probs"]["greedy"]
    better = sum(b > g + LIKELIER for b, g in zip(beam, greedy, strict=True)) / len(beam)
    return paired(beam, greedy), better


def falls_from(scores: Sequence[float], widths: Sequence[int]) -> int | None:
    """The width from which BLEU stays a point or more below its best."""
    best = max(scores)
    place = len(scores)
    while place and scores[place - 1] <= best - FALL:
        place -= 1
    return widths[place] if place < len(widths) else None


def decide(data: Data) -> Verdict:
    difference, better = gain(data)
    width = falls_from([run["bleu"] for run in data["beams"]["0"]], data["widths"])
    fall = "Likelier is not always better" if width else "BLEU does not fall"
    fall += f": from width {width} on, BLEU falls" if width else " with wider beams"
    if better == 0:
        return Verdict("refuted", "No beam found a likelier translation than greedy search: it missed nothing.")
    if better >= BETTER and difference.low > 0 and data["examples"]:
        example = data["examples"][0]
        return Verdict(
            "shown",
            f"Greedy search missed a likelier translation in {100 * better:.0f}% of the sentences: of "
            f"“{example['source']}” it makes “{example['greedy']}”, a beam of {COMPARED} “{example['beam']}”. "
            f"{fall} (without length penalty).",
        )
    return Verdict("not decided", f"The beam was likelier in {100 * better:.0f}% of the sentences only.")


def draw(data: Data) -> list[Figure]:
    widths, timing = data["widths"], data["timing"]
    by_width = axis("width of the beam", log=True)
    curves = {
        name: [series(f"length penalty {penalty}", widths, [run[name] for run in runs])
               for penalty, runs in data["beams"].items()]
        for name in ("log_prob", "bleu", "tokens")
    }  # fmt: skip
    seconds = [series(f"length penalty {penalty}", widths, timing[penalty]) for penalty in data["beams"]]
    rules = list(data["samples"])
    runs_of = [[data["greedy_of_sampled"]], *data["samples"].values()]
    quality = [group("BLEU", [[run["bleu"] for run in runs] for runs in runs_of])]
    likely = [group("log-probability", [[run["log_prob"] for run in runs] for runs in runs_of])]
    rows = [
        [name, f"{100 * data['different'][name]:.0f}%", str(interval([run["bleu"] for run in data["samples"][name]])),
         f"{sum(timing[name]) / len(timing[name]):.2f}"]
        for name in rules
    ]  # fmt: skip
    shown = [
        [each["source"], each["greedy"], f"{each['log_prob'][0]:.2f}", each["beam"], f"{each['log_prob'][1]:.2f}",
         each["reference"]]
        for each in data["examples"]
    ]  # fmt: skip
    what = f"Mean of {data['sentences']} sentences, by the shipped model."
    return [
        table(
            "Where a beam beats greedy search", ["sentence", "greedy", "log-probability", f"beam {COMPARED}",
            "log-probability", "reference"], shown, "Likelier, and nearer to the reference.",
        ),
        lines("How likely the translation is", by_width, axis("log-probability"), curves["log_prob"], what),
        lines(
            "How good the translation is", by_width, axis("BLEU"), curves["bleu"],
            "Without a length penalty a wide beam prefers short translations: each token makes a sequence less likely.",
        ),
        lines("How long the translation is", by_width, axis("tokens"), curves["tokens"], what),
        lines("Seconds of all sentences", by_width, axis("seconds", log=True), seconds, "Other work ran beside it."),
        bars("Greedy search and sampling: BLEU", ["greedy", *rules], axis("BLEU", low=0), quality),
        bars("Greedy search and sampling: how likely", ["greedy", *rules], axis("log-probability"), likely),
        table(
            "Sampling: how different, how good", ["drawn from", "different translations", "BLEU", "seconds"], rows,
            "100%: every run gave another translation. Greedy search always gives the same one. Sampling with a seed "
            "runs on another engine than greedy and beam search, so their seconds cannot be compared.",
        ),
    ]  # fmt: skip


LAB = Lab(
    name="decoding",
    claims="C19",
    title="Greedy search, beams and sampling",
    question="What does each decoding rule find: how likely is it, how good, how different, and at what cost?",
    notes="Greedy search is fast and may miss the best sequence; beam search follows the k likeliest sequences; top-k "
    "and top-p sampling draw from the likeliest tokens. An example: greedy gives “I am fine”, a beam “I am finally "
    "feeling much better”.",
    method="The shipped model translates sentences that were written for this, by the search of the product: greedy, "
    "beams of 1 to 100 with and without length penalty, and sampling with several seeds.",
    criterion="Shown if a beam of 5 finds a likelier translation in at least 10% of the sentences, its mean "
    "log-probability is higher (95% interval above 0), and some such translation is also nearer to the reference.",
    refuted_by="Greedy search that is never less likely than the beam.",
    broken="Every beam keeps one hypothesis only.",
    settings=Settings,
    quick={"seeds": 2, "sampled": 2, "widest": 5},
    live=("width of the beam", "log-probability"),
    measure=measure,
    decide=decide,
    draw=draw,
)
