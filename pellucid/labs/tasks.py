"""C16, C20: one code learns translation, summaries and dates; only the pairs differ."""

from __future__ import annotations

from itertools import chain, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pellucid.evaluation.metrics import chrf
from pellucid.fields import setting
from pellucid.labs.parts import phrases
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series_over_seeds, table
from pellucid.labs.parts.intervals import Interval, interval, paired
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.model_directory.describe import describe
from pellucid.text.pair import Pair
from pellucid.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from torch import Tensor

    from pellucid.config import ModelConfig

TASKS = ("translation", "summaries", "dates")
MARGIN = 5.0  # points of chrF that the right source has to give, beyond another example's
BATCH_TOKENS = 1024
VOCABULARY = 512
EPOCHS = 20  # with batches of their own; then these come again


class Settings(LabConfig):
    updates: int = setting(200, "updates of each model", minimum=10, maximum=10_000)
    learning_rate: float = setting(0.006, "highest learning rate (Adam)", minimum=0.0001, maximum=0.1)
    pairs: int = setting(2000, "pairs to learn from, in each task", minimum=100, maximum=50_000)
    tested: int = setting(40, "other pairs, to measure with", minimum=4, maximum=1000)


def measure(config: Settings) -> Steps[Data]:
    results: Data = {}
    timing: Data = {}
    for number, name in enumerate(TASKS):
        training, tested = corpus(name, config.pairs, config.tested, config.seed)
        runs = []
        for place, seed in enumerate(config.all_seeds):
            share = (number + place / config.seeds) / len(TASKS), 1 / len(TASKS) / config.seeds
            runs.append((yield from _learn(config, name, training, tested, seed, share)))
        timing[name] = [run.pop("seconds") for run in runs]
        fields = ("losses", "own", "other")
        once = {field: runs[0][field] for field in ("loss_updates", "cost", "example")}
        results[name] = once | {field: [run[field] for run in runs] for field in fields}
    return {"tasks": results, "timing": timing}


def corpus(name: str, count: int, tested: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Pairs to learn from, and others to measure with."""
    from pellucid.text.generated import CORPORA

    if name == "translation":
        made = list(dict.fromkeys(pair[:2] for pair in phrases.pairs(count + 2 * tested, seed, (1, 2))))
        return [Pair(*texts) for texts in made[tested:]], [Pair(*texts) for texts in made[:tested]]
    if name == "summaries":  # every other pair: those between are summaries to be written out
        splits = CORPORA["reports"](2 * count, seed, "train")[::2], CORPORA["reports"](2 * tested, seed, "test")[::2]
    else:
        splits = CORPORA["dates"](count, seed, "train"), CORPORA["dates"](tested, seed, "test")
    training, others = ([Pair(*pair[:2]) for pair in split] for split in splits)
    return training, others


def _learn(
    config: Settings, name: str, pairs: list[Pair], tested: list[Pair], seed: int, share: tuple[float, float]
) -> Steps[dict[str, Any]]:
    """From pairs to translations: the same lines for every task."""
    from pellucid.config import DecodeConfig
    from pellucid.labs.networks.torch_training import generate, mean_loss, small, train
    from pellucid.nn import Transformer
    from pellucid.text.batch import Batch, batches
    from pellucid.text.corpus import Corpus

    if config.broken:  # everyone gets the source of the pair before
        pairs = [Pair(other.source, pair.target) for other, pair in zip([pairs[-1], *pairs[:-1]], pairs, strict=True)]
    tokenizers = Tokenizers.learn(pairs, VOCABULARY)
    model = Transformer(small(len(tokenizers.source)), seed)
    with TemporaryDirectory() as directory:
        training = Corpus.build(pairs, tokenizers, Path(directory) / "corpus")
        plan = cycle(chain.from_iterable(batches(training, BATCH_TOKENS, seed, epoch) for epoch in range(EPOCHS)))

        def loss_of(_: int) -> Tensor:
            return mean_loss(model, Batch.of(training, next(plan)))

        def progress(done: float, update: int, loss: float) -> Progress:
            return Progress(share[0] + share[1] * done, name, update, loss)

        start = perf_counter()
        losses = yield from train(model, loss_of, config.updates, config.learning_rate, progress)
        trained = perf_counter() - start
    sources = [tokenizers.encode_source(pair.source) for pair in tested]
    targets = [tokenizers.encode_target(pair.target) for pair in tested]
    config_of_search = DecodeConfig(strategy="greedy", max_length=max(map(len, targets)) + 5)
    texts = tokenizers.target.decode_batch(generate(model, sources, config_of_search))
    references = [pair.target for pair in tested]
    updates, values = zip(*losses, strict=True)
    return {
        "loss_updates": list(updates),
        "losses": list(values),
        "own": chrf(texts, references).score,
        "other": chrf(texts, references[-1:] + references[:-1]).score,
        "cost": cost(model.config, sources, targets),
        "example": {"source": tested[0].source, "output": texts[0], "reference": tested[0].target},
        "seconds": {"training": trained, "all": perf_counter() - start},
    }


def cost(shape: ModelConfig, sources: list[list[int]], targets: list[list[int]]) -> Data:
    """Of one translation on average: tokens, and multiply-adds with the cache, those of attention included."""
    counted = describe(shape)
    source, target = (sum(map(len, side)) / len(side) for side in (sources, targets))
    # queries times keys: in the encoder all pairs, in the decoder those so far, in cross-attention all
    looked_at = shape.encoder_layers * source**2 + shape.decoder_layers * (target * (target + 1) / 2 + target * source)
    products = source * counted.multiply_adds("source") + target * counted.multiply_adds("target")
    return {
        "parameters": counted.parameters,
        "source_tokens": source,
        "target_tokens": target,
        "multiply_adds": products + counted.multiply_adds_per_key * looked_at,
    }


def gain(task: Data) -> Interval:
    """How much nearer the outputs are to their own references than to others'."""
    return paired(task["own"], task["other"])


def decide(data: Data) -> Verdict:
    gains = {name: gain(task) for name, task in data["tasks"].items()}
    words = ", ".join(f"{name} {interval(task['own']).mean:.0f}" for name, task in data["tasks"].items())
    if all(each.mean >= MARGIN and each.low > 0 for each in gains.values()):
        least, most = (find(task["cost"]["multiply_adds"] for task in data["tasks"].values()) for find in (min, max))
        return Verdict(
            "shown",
            f"The same code learned all three tasks from their pairs (chrF on others: {words}); what they cost differs "
            f"with the length of the texts, by a factor of {most / least:.0f}.",
        )
    if all(each.mean < MARGIN for each in gains.values()):
        return Verdict("refuted", f"The outputs do not follow from their sources (chrF: {words}).")
    return Verdict("not decided", f"Not every task was learned in so few updates (chrF: {words}).")


def draw(data: Data) -> list[Figure]:
    tasks = data["tasks"]
    curves = [
        series_over_seeds(name, task["loss_updates"], list(zip(*task["losses"], strict=True)))
        for name, task in tasks.items()
    ]
    scores = [
        group("its own reference", [task["own"] for task in tasks.values()]),
        group("that of another source", [task["other"] for task in tasks.values()]),
    ]
    costs = [
        [
            name, f"{task['cost']['parameters']:,}", f"{task['cost']['source_tokens']:.0f}",
            f"{task['cost']['target_tokens']:.0f}", f"{task['cost']['multiply_adds'] / 1e6:.1f} million",
            f"{interval([run['training'] for run in data['timing'][name]]).mean:.0f} s",
        ]
        for name, task in tasks.items()
    ]  # fmt: skip
    examples = [[name, *task["example"].values()] for name, task in tasks.items()]
    headings = ["task", "parameters", "source tokens", "target tokens", "multiply-adds of one", "training"]
    return [
        bars(
            "Outputs compared with references", list(tasks), axis("chrF", low=0, high=100), scores,
            "Pairs that were not learned from. Where the source is ignored, both bars are equal.",
        ),
        lines("Loss while it trains", axis("update"), axis("loss per token", low=0), curves),
        table("What each task costs", headings, costs, "Means. The training was timed on one core beside other work."),
        table("One output of each", ["task", "source", "output", "reference"], examples, "Of the first run."),
    ]  # fmt: skip


LAB = Lab(
    name="tasks",
    claims="C16, C20",
    title="One code, three tasks",
    question="What has to change in an encoder-decoder between translation, summaries and dates?",
    notes="An encoder and a decoder, then linear and softmax over the vocabulary at every step; sequence to sequence "
    "covers translation, summarisation and generation.",
    method="The same lines learn three tasks, each from generated pairs alone: English to German by a small grammar, "
    "weather reports to one line, dates in ten languages to ISO 8601. Other pairs are then translated. The outputs are "
    "compared with their own references and with those of other sources.",
    criterion="Shown if in every task the outputs are at least 5 points of chrF nearer to their own references than to "
    "others' (95% interval above 0).",
    refuted_by="Outputs that are no nearer to their own references than to others', in every task.",
    broken="Every pair gets the source of another one.",
    settings=Settings,
    quick={"seeds": 1, "updates": 60, "pairs": 600, "tested": 16, "learning_rate": 0.008},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
