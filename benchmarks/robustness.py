"""What a model does with text as people write it: numbers, names, capitals, typos, addresses, long sentences.

    python -m benchmarks.robustness --model runs/mine --data DIR

- Generated sets (`benchmarks/challenges.py`; 200 sentences a direction, `--sentences`): digits, times, prices and dates
  that are right; names, emoji, addresses and placeholders that are kept; in percent of the sentences. And long
  sentences of at least 60 words (a tenth as many): whole if they were not translated in parts and the translation has
  at least 70% of their words.
- Pairs that end with a full stop, from the validation pairs of Tatoeba in DIR (1,000 a direction, `--pairs`), else
  from the hand-written sentences: the BLEU that is lost, in percent of it, without the full stop (final signs do not
  count, on either side), in all capitals (capitals do not count), with one typo in each sentence.
- Repetition: of 1,000 translations of all of these, how many have the same one to eight words at least three times in
  a row where the source does not.
- 300 sentences written by hand (`benchmarks/sentences.py`): chrF, and the share that a reader finds acceptable. What
  the model makes of them is written to `sentences-MODEL.tsv` in the folder of results, to be judged: `python -m
  benchmarks.sentences FILE` lists the outputs that have no verdict yet. The share is in the report once all have one:
  run this again then.

Every model (`--model` may be repeated; default: the one that ships) translates with its default search settings. A
figure is the mean of both directions, in brackets the lower and the higher.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import challenges, corpora
from benchmarks.challenges import DE_EN, EN_DE, Direction
from benchmarks.drawing import publish
from benchmarks.harness import Goal, Report, Spread, options, spread
from benchmarks.sentences import by_kind, hand_written, read_verdicts, summary, write_outputs
from benchmarks.translators import model_options
from pellucid.config import DEFAULT_MODEL
from pellucid.decode.translator import Translator
from pellucid.errors import UserError
from pellucid.evaluation.metrics import bleu, chrf
from pellucid.model_directory import ModelDirectory

SETS = {
    "digits": (challenges.digits, 98),
    "times": (challenges.times, 98),
    "prices": (challenges.prices, 98),
    "dates": (challenges.dates, 98),
    "unknown names": (challenges.names, 95),
    "emoji": (challenges.emoji, 100),
    "addresses": (challenges.addresses, 100),
    "placeholders": (challenges.placeholders, 100),
}
"""How each is drawn, and the percentage that should be right."""
LOSSES = {"without the full stop": 3, "in capitals": 10, "with a typo": 15}  # percent of BLEU at most
WHOLE = 0.7  # of the words of a long sentence, which its translation should have
LOOP = re.compile(r"(?<!\S)(\S+(?: \S+){0,7}?)(?: \1){2,}(?!\w)")
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")  # of the keyboard
NEIGHBOURS = {key: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in ROWS for at, key in enumerate(row)}
LONG = "60 words in one piece"
BLEU = "BLEU"
LOOPS = "repetitions in 1,000"
ACCEPTABLE = "hand-written: acceptable"
Pairs = Sequence[tuple[str, str]]


class Probe:
    """A model that translates with its default search, and all it has said."""

    def __init__(self, directory: ModelDirectory) -> None:
        self.translator = Translator(directory)
        self.spoken: list[tuple[str, str]] = []

    def __call__(self, sources: Sequence[str], direction: Direction) -> list[str]:
        return [text for text, _ in self.with_notes(sources, direction)]

    def with_notes(self, sources: Sequence[str], direction: Direction) -> list[tuple[str, bool]]:
        """The translations, and whether each was made in one piece."""
        found = self.translator.translate(list(sources), *direction)
        assert isinstance(found, list)
        self.spoken += zip(sources, (each.text for each in found), strict=True)
        return [(each.text, not each.notes) for each in found]


def measure(probe: Probe, data: Path | None, count: int, pairs: int) -> dict[str, dict[str, float]]:
    """Every figure by direction."""
    found: dict[str, dict[str, float]] = {}
    for direction in (EN_DE, DE_EN):
        if direction not in probe.translator.languages.directions:
            continue
        shown = "-".join(direction)
        figures = _shares(probe, direction, count) | _long(probe, direction, max(1, count // 10))
        figures |= _losses(probe, direction, *validation(data, direction, pairs))
        for name, figure in figures.items():
            found.setdefault(name, {})[shown] = figure
    if not found:
        what = f"translates neither {' nor '.join('-'.join(direction) for direction in (EN_DE, DE_EN))}"
        raise UserError(what, str(probe.translator.directory.path), "these sets are English and German")
    return found


def _shares(probe: Probe, direction: Direction, count: int) -> dict[str, float]:
    """The percentage of right translations in each set."""
    shares = {}
    for name, (draw, _) in SETS.items():
        made = challenges.challenges(draw, direction, count)
        translations = probe([challenge.source for challenge in made], direction)
        met = [challenge.met(text) for challenge, text in zip(made, translations, strict=True)]
        shares[name] = 100 * sum(met) / len(met)
        report_progress(direction, name, shares[name])
    return shares


def _long(probe: Probe, direction: Direction, count: int) -> dict[str, float]:
    """The percentage of long sentences that were translated in one piece to a text that is long enough."""
    random = Random(1)
    sources = [challenges.long_sentence(direction, random) for _ in range(count)]
    made = zip(sources, probe.with_notes(sources, direction), strict=True)
    whole = [one_piece and len(text.split()) >= WHOLE * len(source.split()) for source, (text, one_piece) in made]
    share = 100 * sum(whole) / len(whole)
    report_progress(direction, LONG, share)
    return {LONG: share}


def validation(data: Path | None, direction: Direction, count: int) -> tuple[list[str], list[str]]:
    """Sources and references that end with a full stop."""
    if data is None:
        alike = [each for each in hand_written() if each.direction == direction]
        pairs = [(each.source, each.references[0]) for each in alike]
    else:
        english, german = corpora.lines(replace(corpora.TATOEBA, files="tatoeba-en-de/valid"), data)
        pairs = list(zip(*((english, german) if direction == EN_DE else (german, english)), strict=True))
    chosen = [pair for pair in pairs if all(re.search(r"\w\.$", text) for text in pair)][:count]
    return [source for source, _ in chosen], [reference for _, reference in chosen]


def _losses(probe: Probe, direction: Direction, sources: list[str], references: list[str]) -> dict[str, float]:
    """The BLEU of the sources as they are, and what is lost of it in each other shape, in percent."""
    random = Random(1)
    as_it_is = probe(sources, direction)
    other: dict[str, tuple[list[str], Callable[[str], str]]] = {  # what becomes of sources, how texts are compared
        "without the full stop": ([source.removesuffix(".") for source in sources], without_final_sign),
        "in capitals": ([source.upper() for source in sources], str.upper),
        "with a typo": ([with_typo(source, random) for source in sources], str),
    }
    found = {BLEU: bleu(as_it_is, references).score}
    report_progress(direction, BLEU, found[BLEU])
    for name, (changed, compared) in other.items():
        right = list(map(compared, references))
        before = bleu(list(map(compared, as_it_is)), right).score
        after = bleu(list(map(compared, probe(changed, direction))), right).score
        found[lost(name)] = 100 * (1 - after / before) if before else 100.0
        report_progress(direction, lost(name), found[lost(name)])
    return found


def lost(shape: str) -> str:
    return f"BLEU lost {shape}, %"


def without_final_sign(text: str) -> str:
    return text.rstrip(".!?… ")


def with_typo(text: str, random: Random) -> str:
    """One slip in a word of at least four letters (in the longest, if all are shorter): a letter is left out, doubled,
    exchanged with the next one, or with a neighbour on the keyboard."""
    words = (
        list(re.finditer(r"[^\W\d_]{4,}", text))
        or sorted(re.finditer(r"\w+", text), key=lambda word: len(word[0]))[-1:]
    )
    if not words:
        return text
    word = random.choice(words)
    at = random.randrange(word.start(), max(word.start() + 1, word.end() - 1))
    letter, following = text[at], text[at + 1 : at + 2]
    slips = [following, letter + letter + following, following + letter]
    slips += [near + following for near in NEIGHBOURS.get(letter.lower(), "")]
    return text[:at] + random.choice([slip for slip in slips if slip != letter + following]) + text[at + 2 :]


def loops(spoken: Pairs) -> list[tuple[str, str]]:
    """The translations that repeat themselves where the source does not."""
    return [(source, text) for source, text in spoken if repeats(text) and not repeats(source)]


def repeats(text: str) -> bool:
    return LOOP.search(" ".join(text.lower().split())) is not None


def read_by_hand(probe: Probe, out: Path) -> dict[str, Any]:
    """chrF of the hand-written sentences, and verdicts on what the model makes of them, which is written to a file."""
    sentences = [each for each in hand_written() if each.direction in probe.translator.languages.directions]
    outputs: dict[str, str] = {}
    scores: dict[str, float] = {}
    for direction in sorted({each.direction for each in sentences}):
        alike = [each for each in sentences if each.direction == direction]
        texts = probe([each.source for each in alike], direction)
        outputs |= {each.id: text for each, text in zip(alike, texts, strict=True)}
        scores["-".join(direction)] = chrf(texts, [each.references[0] for each in alike]).score
    path = out / f"sentences-{probe.translator.directory.name}.tsv"
    write_outputs(path, outputs)
    kinds = by_kind(sentences, outputs, read_verdicts())
    print("\n".join([*summary(kinds), f"outputs: {path}"]), file=sys.stderr)
    every = [verdict for verdicts in kinds.values() for verdict in verdicts]
    return {
        "chrf": scores,
        "sentences": len(every),
        "acceptable": every.count(True),
        "without_verdict": every.count(None),
        "by_kind": {kind: [verdicts.count(True), len(verdicts)] for kind, verdicts in kinds.items()},
    }


def report_progress(direction: Direction, name: str, figure: float) -> None:
    print(f"{'-'.join(direction):<6} {name:<36} {figure:8.1f}", file=sys.stderr, flush=True)


def examine(name: str, arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Spread]]:
    """What is written about a model, and its rows of the table."""
    probe = Probe(ModelDirectory.find(name))
    by_direction = measure(probe, arguments.data, arguments.sentences, arguments.pairs)
    by_hand = read_by_hand(probe, arguments.out)
    found = loops(probe.spoken)
    for source, text in found[:5]:
        print(f"repeats itself: {source} -> {text}", file=sys.stderr)
    shown = {row: spread([*figures.values()]) for row, figures in by_direction.items()}
    shown[LOOPS] = spread([1000 * len(found) / len(probe.spoken)])
    shown["hand-written: chrF"] = spread([*by_hand["chrf"].values()])
    if not by_hand["without_verdict"]:
        shown[ACCEPTABLE] = spread([100 * by_hand["acceptable"] / by_hand["sentences"]])
    figures = {"translations": len(probe.spoken), "loops": len(found), "by_direction": by_direction}
    return figures | {"hand_written": by_hand}, shown


def bars(shown: Mapping[str, Spread]) -> dict[str, tuple[float, bool]]:
    """The bar of each figure that has one, and whether less is better."""
    bars = {name: (float(bar), False) for name, (_, bar) in SETS.items()} | {LONG: (100.0, False)}
    bars |= {lost(name): (float(bar), True) for name, bar in LOSSES.items()}
    bars |= {LOOPS: (0.0, True), ACCEPTABLE: (75.0, False)}
    return {name: bar for name, bar in bars.items() if name in shown}


def main() -> None:
    parser = options(__doc__, parents=[model_options()])
    parser.add_argument("--sentences", type=int, default=200, help="of each generated set and direction; default: 200")
    parser.add_argument("--pairs", type=int, default=1000, help="of each direction for BLEU; default: 1000")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sentences, arguments.pairs = 5, 10
    figures: dict[str, Any] = {}
    tables: dict[str, dict[str, Spread]] = {}
    for name in arguments.model or [DEFAULT_MODEL]:
        label = ModelDirectory.find(name).name
        label = f"{label} ({len(tables) + 1})" if label in tables else label
        figures[label], tables[label] = examine(name, arguments)
    rows = [[row, *(f"{table[row]:.1f}" if row in table else "" for table in tables.values())] for row in _rows(tables)]
    goals = [
        Goal(f"{label}: {row}", table[row], bar, unit="%" if row != LOOPS else "", less_is_better=less)
        for label, table in tables.items()
        for row, (bar, less) in bars(table).items()
    ]
    title = "What a model does with text as people write it"
    report = Report("robustness", title, ["", *tables], rows, figures, goals)
    drawn = {f"{label}: {row}": table[row] for label, table in tables.items() for row in [*SETS, LONG]}
    publish(report, arguments, drawn, "percent of sentences that are right")


def _rows(tables: Mapping[str, Mapping[str, Spread]]) -> list[str]:
    return list(dict.fromkeys(row for table in tables.values() for row in table))


if __name__ == "__main__":
    main()
