"""The published figure: BLEU of a tiny Transformer on the captions of Multi30k, English to German.

    pellucid train --config recipes/multi30k-en-de-published.toml --out runs/multi30k
    python -m benchmarks.quality runs/multi30k --data DIR
    python -m benchmarks.quality runs/seed-1 runs/seed-2 runs/raw --data DIR
    python -m benchmarks.quality runs/student --before student=runs/teacher,runs/start --data DIR
    python -m benchmarks.quality --data DIR                trains from a recipe of one part first: that takes hours

Published: 41.02 on test_2016_flickr with 2.57 M parameters. Scored as there: text that is lower-cased and tokenised
already, its words counted as they stand. Runs that learned from the raw text (folder multi30k instead of multi30k-tok)
are scored by cased sacreBLEU instead. The length penalty is chosen on the valid set; with it the test set is translated
once in float32, which is the figure, and once in int8, the form that is served. Beside them stands the figure with a
penalty of 1, which nobody chose: the published search had it. What follows ± is how much other sentences for a test set
might change (95% of 1,000 draws). The minutes of the runs that a run stands on (the model it starts from, its teachers)
count as its own.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from sacrebleu import BLEU

import pellucid
from benchmarks import corpora
from benchmarks.harness import CACHE, ROOT, Goal, Report, options, picture, spread
from pellucid.config import DecodeConfig, file_list
from pellucid.errors import UserError
from pellucid.evaluation.metrics import Score, bleu
from pellucid.model_directory.describe import describe
from pellucid.training.loop import resume_run, start_run
from pellucid.training.run import Run
from pellucid.training.run.settings import Settings, read_toml

PUBLISHED, WITH_IMAGES = 41.02, 41.96
PARAMETERS = 2.65e6
MINUTES, FEW_MINUTES = 180, 90
RECIPE = ROOT / "recipes" / "multi30k-en-de-published.toml"  # the best one has five parts, whose commands it lists
BEAM, PENALTY = 5, 1.0  # as published
DRAWS = 1000
PENALTIES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
TOKENISED = "multi30k-tok"
QUICK_PARTS = {"train": 1500, "valid": 40, "test_2016_flickr": 40}
QUICK_TRAIN = {"steps": 12, "validate_every": 6, "validate_pairs": 10, "checkpoint_every": 6}


@dataclass(frozen=True)
class Trained:
    """A finished run and what its log says."""

    run: Run
    earlier: tuple[Trained, ...] = ()  # the runs it stands on

    @cached_property
    def settings(self) -> Settings:
        return self.run.settings()

    @property
    def recipe(self) -> str:
        """All that decides its weights but the seed."""
        train = self.settings.train.changed(seed=0, validate_every=1, validate_pairs=0)
        return replace(self.settings, train=train).to_toml()

    @property
    def corpus(self) -> str:
        """The folder it learned from."""
        return Path(file_list(self.settings.data.source)[0]).parent.name

    @property
    def tokenised(self) -> bool:
        return self.corpus == TOKENISED

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        return [entry for entry in self.run.history() if "loss" in entry]

    @property
    def minutes(self) -> float:
        """Of training and validating, over all sessions, and of the runs before."""
        return sum(each.minutes for each in self.earlier) + float(self.steps[-1]["seconds"]) / 60

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Minutes and BLEU of the validations on the way (greedy search, some of the valid pairs), and of those earlier
        runs that go the same way."""
        points, began = [], 0.0
        for each in self.earlier:
            if each.settings.data.valid_source == self.settings.data.valid_source:
                points += [(began + minutes, score) for minutes, score in each.curve]
            began += each.minutes
        own = {entry["step"]: began + entry["seconds"] / 60 for entry in self.steps}
        validations = [entry for entry in self.run.history() if entry.get("bleu") is not None]
        return points + [(own[entry["step"]], entry["bleu"]) for entry in validations]

    @property
    def counting(self) -> dict[str, Any]:
        """How the words of a text are counted."""
        return {"lowercase": True, "tokenize": "none"} if self.tokenised else {}

    def score(self, translations: Sequence[str], references: Sequence[str]) -> Score:
        return bleu(translations, references, **self.counting)

    def chance(self, translations: Sequence[str], references: Sequence[str]) -> float:
        """How far from the mean 95% of the scores lie when sentences are drawn at random (bootstrap)."""
        metric = BLEU(force=True, **self.counting)
        drawn = metric.corpus_score(list(translations), [list(references)], n_bootstrap=DRAWS)
        about = json.loads(drawn.format(signature=str(metric.get_signature()), is_json=True))
        return float(about.get("confidence_var", 0.0))  # left out where every score is 0


@dataclass(frozen=True)
class Quality:
    """What a run is worth."""

    run: str
    corpus: str
    seed: int
    parameters: int
    updates: int
    minutes: float
    length_penalty: float  # the best on the valid set
    grid: dict[float, float]  # BLEU on the valid set by length penalty
    valid: float
    test: float
    test_int8: float  # in the form that is served
    test_unchosen: float  # with the penalty of the published search
    chance: float  # the test set might as well have had other sentences: within so much of the figure, 95% of the time
    signature: str


def measure(trained: Trained, data: Path) -> Quality:
    """Choose on the valid set, then translate the test set with what was chosen."""
    translator = pellucid.load(trained.run.directory, engine="ctranslate2", compute_type="float32")
    sources, references = part(data, trained.corpus, "valid")
    grid = {penalty: trained.score(translate(translator, sources, penalty), references).score for penalty in PENALTIES}
    chosen = max(PENALTIES, key=lambda penalty: (grid[penalty], -abs(penalty - 1)))
    sources, references = part(data, trained.corpus, "test_2016_flickr")
    translations = translate(translator, sources, chosen)
    score = trained.score(translations, references)
    unchosen = trained.score(translate(translator, sources, PENALTY), references)
    served = pellucid.load(trained.run.directory, engine="ctranslate2", compute_type="int8")
    return Quality(
        run=trained.run.directory.name,
        corpus=trained.corpus,
        seed=trained.settings.train.seed,
        parameters=describe(translator.config).parameters,
        updates=len(trained.steps),
        minutes=trained.minutes,
        length_penalty=chosen,
        grid=grid,
        valid=grid[chosen],
        test=score.score,
        test_int8=trained.score(translate(served, sources, chosen), references).score,
        test_unchosen=unchosen.score,
        chance=trained.chance(translations, references),
        signature=score.signature,
    )


def translate(translator: pellucid.Translator, sources: Sequence[str], length_penalty: float) -> list[str]:
    """Line by line: a caption is one segment, however many sentences it has."""
    config = DecodeConfig(beam=BEAM, length_penalty=length_penalty)
    translations = translator.translate_all(translator.source_texts(sources), config, split=False)
    return [translation.text for translation in translations]


def part(data: Path, corpus: str, name: str) -> corpora.Lines:
    return corpora.lines(replace(corpora.MULTI30K, files=f"{corpus}/{name}"), data)


def made_up(folder: Path) -> Path:
    """A folder of corpora of generated captions."""
    source, target = corpora.generate(corpora.MULTI30K, sum(QUICK_PARTS.values()))
    (folder / TOKENISED).mkdir(parents=True, exist_ok=True)
    end = 0
    for name, count in QUICK_PARTS.items():
        start, end = end, end + count
        for language, side in (("en", source), ("de", target)):
            with gzip.open(folder / TOKENISED / f"{name}.{language}.gz", "wt", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in side[start:end])
    return folder


def train(recipe: Path, data: Path, out: Path, changes: dict[str, Any], threads: int) -> Run:
    """Train as the recipe says, on the corpora in `data`; a run that was stopped goes on."""
    run = Run(out)
    if (out / "config.toml").exists():
        return resume_run(run)
    tables = read_toml(recipe)
    tables["data"] = {
        name: str(data / Path(value).relative_to("data")) if str(value).startswith("data/") else value
        for name, value in tables["data"].items()
    }
    tables["train"] |= {"threads": threads, **changes}
    return start_run(run, Settings.of(tables))


def goals(runs: Sequence[Trained], qualities: Sequence[Quality]) -> list[Goal]:
    """Of every recipe on tokenised text; of several seeds, the median is held to the bars."""
    found = []
    for seeds in by_recipe(runs, qualities):
        name = seeds[0].run
        test = spread([quality.test for quality in seeds])
        minutes = spread([quality.minutes for quality in seeds])
        parameters = spread([quality.parameters / 1e6 for quality in seeds])
        if seeds[0].corpus == TOKENISED:
            found += [
                Goal(f"{name}: BLEU on test_2016_flickr", test, PUBLISHED, WITH_IMAGES, unit="BLEU"),
                Goal(f"{name}: minutes", minutes, MINUTES, FEW_MINUTES, unit="minutes", less_is_better=True),
                Goal(f"{name}: parameters", parameters, PARAMETERS / 1e6, unit="M", less_is_better=True),
            ]
    return found


def by_recipe(runs: Sequence[Trained], qualities: Sequence[Quality]) -> list[list[Quality]]:
    """The runs of each recipe, which differ by their seeds."""
    alike: dict[str, list[Quality]] = {}
    for trained, quality in zip(runs, qualities, strict=True):
        alike.setdefault(trained.recipe, []).append(quality)
    return [*alike.values()]


def draw(path: Path, runs: Sequence[Trained], qualities: Sequence[Quality]) -> None:
    """BLEU against minutes: small dots on the way, a star for the test set at the end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for trained, quality in zip(runs, qualities, strict=True):
        [dots] = axes.plot(
            *zip(*trained.curve, strict=True), ".-", label=f"{quality.run}: {quality.corpus}, on the way, greedy"
        )
        label = f"{quality.run}: test set, beam {BEAM}: {quality.test:.2f}"
        axes.plot(quality.minutes, quality.test, "*", markersize=12, color=dots.get_color(), label=label)
    axes.axhline(PUBLISHED, color="#666", linestyle="--", label=f"published: {PUBLISHED}")
    axes.set(xlabel="minutes of training", ylabel="BLEU")
    axes.set_title("Multi30k, English to German", loc="left")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    pyplot.close(figure)


def row(quality: Quality) -> list[str]:
    return [
        quality.run,
        quality.corpus,
        str(quality.seed),
        f"{quality.parameters / 1e6:.2f} M",
        f"{quality.updates:,}",
        f"{quality.minutes:.0f}",
        f"{quality.length_penalty:g}",
        f"{quality.valid:.2f}",
        f"{quality.test:.2f} ± {quality.chance:.2f}",
        f"{quality.test_int8:.2f}",
        f"{quality.test_unchosen:.2f}",
    ]


def averages(runs: Sequence[Trained], qualities: Sequence[Quality]) -> list[list[str]]:
    """A line for every recipe that was run with several seeds: mean and standard deviation."""
    lines = []
    for seeds in by_recipe(runs, qualities):
        if len(seeds) > 1:
            scores = [(each.valid, each.test, each.test_int8, each.test_unchosen) for each in seeds]
            spreads = [f"{mean(column):.2f} ± {stdev(column):.2f}" for column in zip(*scores, strict=True)]
            lines.append([f"{seeds[0].run}: mean ± deviation", seeds[0].corpus, *[""] * 5, *spreads])
    return lines


COLUMNS = ["run", "text", "seed", "parameters", "updates", "minutes", "penalty", "valid"]
COLUMNS += ["test", "test, int8", "test, penalty 1"]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="finished runs; default: trains one, for hours"
    )
    parser.add_argument(
        "--before",
        nargs="+",
        default=[],
        metavar="NAME=RUN[,RUN]",
        help="runs that one of the others, by its name, stands on: their minutes count as its own",
    )
    parser.add_argument("--recipe", type=Path, default=RECIPE, help="to train from, where no run is given")
    arguments = parser.parse_args()
    folder = CACHE / ("quality-quick" if arguments.quick else "quality")
    if arguments.data is None and not arguments.quick:
        raise SystemExit("benchmarks.quality: give --data, the folder that holds multi30k-tok (or --quick)")
    if arguments.quick:
        shutil.rmtree(folder, ignore_errors=True)  # what an earlier version left says nothing about this one
    data = arguments.data or made_up(folder)
    directories = arguments.runs
    if not directories:
        print(f"no run given: training from {arguments.recipe.name}", "" if arguments.quick else "for hours")
        changes = QUICK_TRAIN if arguments.quick else {}
        directories = [train(arguments.recipe, data, folder / "run", changes, arguments.threads).directory]
    _all_finished(directories)
    earlier = earlier_runs(arguments.before, [directory.name for directory in directories])
    runs = [Trained(Run(directory), earlier.get(directory.name, ())) for directory in directories]
    qualities = [measure(trained, data) for trained in runs]
    rows = [*map(row, qualities), *averages(runs, qualities)]
    figures = {"runs": [asdict(quality) for quality in qualities]}
    report = Report("quality", "Multi30k, English to German: BLEU", COLUMNS, rows, figures, goals(runs, qualities))
    report.show()
    report.save(arguments.out)
    draw(picture(arguments, report.name), runs, qualities)
    for signature in dict.fromkeys(quality.signature for quality in qualities):
        print(signature)


def earlier_runs(given: Sequence[str], names: Sequence[str]) -> dict[str, tuple[Trained, ...]]:
    """For each `NAME=RUN,RUN` those runs, in the order in which they were trained."""
    found = {}
    for word in given:
        name, _, earlier = word.partition("=")
        if name not in names or not earlier:
            raise UserError(
                f"{word!r} names none of the runs", "--before", f"write NAME=RUN; names: {', '.join(names)}"
            )
        directories = [Path(directory) for directory in earlier.split(",")]
        _all_finished(directories)
        found[name] = tuple(Trained(Run(directory)) for directory in directories)
    return found


def _all_finished(directories: Sequence[Path]) -> None:
    unfinished = [str(directory) for directory in directories if not Run(directory).model.exists()]
    if unfinished:
        raise UserError("no finished run", ", ".join(unfinished), "go on with pellucid train --resume")


if __name__ == "__main__":
    main()
