"""C4: how far back recurrent networks can look, beside a Transformer, and why they learn it so badly."""

from __future__ import annotations

from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.evaluation.metrics import bleu
from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, lines, series, series_over_seeds, table
from pellucid.labs.parts.intervals import interval
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.labs.parts.phrases import pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

TRANSFORMER = "Transformer"
KINDS = ("RNN", "LSTM", "LSTM with attention", TRANSFORMER)
DISTANCES = (2, 5, 10, 20, 50, 100, 200)
TRAININGS = ("all distances at once", "short distances first")
KEYS = 8  # symbols that may have to be recalled, and as many others that fill the distance
KEY, FILLER, QUESTION, VOCABULARY = 3, 3 + KEYS, 3 + 2 * KEYS, 4 + 2 * KEYS
RECALLED, FORGOTTEN = 0.9, 0.5  # shares of the questions
VANISHED = 1e-3  # of the gradient at the shortest distance
ROWS = 16
TESTED = 60  # questions of each distance


class Settings(LabConfig):
    longest: int = setting(200, "longest distance between a symbol and the question for it", minimum=20, maximum=200)
    updates: int = setting(200, "updates of each model on recall", minimum=20, maximum=5000)
    learning_rate: float = setting(0.008, "highest learning rate (Adam)", minimum=0.0001, maximum=0.1)
    translations: int = setting(150, "updates of each model on translation", minimum=1, maximum=5000)
    clauses: int = setting(4, "clauses of the longest sentences to translate", minimum=1, maximum=8)


def measure(config: Settings) -> Steps[Data]:
    distances = [distance for distance in DISTANCES if distance <= config.longest]
    models: Data = {}
    timing: Data = {}
    for number, kind in enumerate(KINDS):
        runs = []
        for place, seed in enumerate(config.all_seeds):
            share = (number + place / config.seeds) / len(KINDS), 1 / len(KINDS) / config.seeds
            runs.append((yield from _run(config, kind, seed, distances, share)))
        fields = ("gradient", "recall", "bleu")
        models[kind] = {"parameters": runs[0]["parameters"]} | {name: [run[name] for run in runs] for name in fields}
        timing[kind] = [seconds(kind, config.seed, distance) for distance in distances]
    return {
        "distances": distances,
        "updates": config.updates,
        "clauses": config.clauses,
        "models": models,
        "timing": timing,
    }


def model_of(kind: str, vocabulary: int, seed: int) -> Any:
    """A model of the kind; all have about as many parameters."""
    from pellucid.labs.networks.torch_recurrent import count_parameters, recurrent
    from pellucid.labs.networks.torch_training import small
    from pellucid.nn import Transformer

    transformer = Transformer(small(vocabulary, d_model=32, feed_forward=64), seed)
    if kind == TRANSFORMER:
        return transformer
    return recurrent(kind, vocabulary, count_parameters(transformer), seed)  # type: ignore[arg-type]


def _run(
    config: Settings, kind: str, seed: int, distances: list[int], share: tuple[float, float]
) -> Steps[dict[str, Any]]:
    """One model learns to recall, another of its kind to translate."""
    from pellucid.labs.networks.torch_recurrent import count_parameters
    from pellucid.labs.networks.torch_training import generate, mean_loss, train
    from pellucid.text.batch import Batch

    tested = {each: draw_recall(np.random.default_rng([seed, each]), TESTED, each) for each in distances}
    model = model_of(kind, VOCABULARY, seed)
    gradient = [far_gradient(model, *tested[distance]) for distance in distances]
    recall: dict[str, list[float]] = {}
    for number, training in enumerate(TRAININGS):
        model, random = model_of(kind, VOCABULARY, seed), np.random.default_rng(seed)
        first, part = share[0] + share[1] * number / 3, share[1] / 3

        def loss_of(update: int) -> Tensor:
            distance = drawn(random, distances, update / config.updates, training, config.broken)  # noqa: B023
            sources, targets = draw_recall(random, ROWS, distance)  # noqa: B023
            return mean_loss(model, Batch.from_ids(sources.tolist(), targets.tolist()))  # noqa: B023

        def progress(done: float, update: int, loss: float) -> Progress:
            return Progress(first + part * done, f"{kind}, {training}", update, loss)  # noqa: B023

        yield from train(model, loss_of, config.updates, config.learning_rate, progress)
        recall[training] = []
        for sources, targets in tested.values():
            found = generate(model, sources.tolist())
            hits = [each[:1] == (key,) for each, key in zip(found, targets[:, 0], strict=True)]
            recall[training].append(sum(hits) / len(hits))
            yield Progress(first + part)
    scores = yield from _translate(config, kind, seed, (share[0] + share[1] * 2 / 3, share[1] / 3))
    return {"parameters": count_parameters(model), "gradient": gradient, "recall": recall, "bleu": scores}


def drawn(random: np.random.Generator, distances: list[int], done: float, training: str, broken: bool) -> int:
    """The distance of the next batch, when a share `done` of the training is over."""
    if broken:
        return distances[-1]
    longest = len(distances) if training == TRAININGS[0] else 1 + int(done * (len(distances) - 1))
    return distances[random.integers(longest)]


def draw_recall(random: np.random.Generator, rows: int, distance: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A symbol, fillers, and so many places after the symbol a question; the target is the symbol."""
    from pellucid.text.tokenizer import END

    keys = random.integers(KEY, KEY + KEYS, (rows, 1))
    fillers = random.integers(FILLER, FILLER + KEYS, (rows, distance - 1))
    end = np.full((rows, 1), END)
    return np.hstack([keys, fillers, np.full((rows, 1), QUESTION)]), np.hstack([keys, end])


def far_gradient(model: Any, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> float:
    """How strongly the loss depends on the first symbol: the norm of its gradient, mean over some rows."""
    import torch

    from pellucid.labs.networks.torch_training import mean_loss
    from pellucid.text.batch import Batch

    embedded: list[Tensor] = []
    handle = model.source_embedding.register_forward_hook(lambda _module, _inputs, output: embedded.append(output))
    loss = mean_loss(model, Batch.from_ids(sources[:ROWS].tolist(), targets[:ROWS].tolist()))
    handle.remove()
    [gradient] = torch.autograd.grad(loss, embedded[:1])  # the first is the source's: (rows, source, size)
    return float(gradient[:, 0].norm(dim=-1).mean())


def _translate(config: Settings, kind: str, seed: int, share: tuple[float, float]) -> Steps[list[float]]:
    """BLEU of sentences of 1, 2, … clauses, after a training on all lengths."""
    from pellucid.labs.networks.torch_training import generate, mean_loss, train
    from pellucid.text.batch import Batch
    from pellucid.text.tokenizer import END

    tested = {length: pairs(40, 1000 + length, (length, length)) for length in range(1, config.clauses + 1)}
    corpus = pairs(2000, seed, (1, config.clauses))
    words = sorted({word for pair in corpus for text in pair[:2] for word in text.split()})
    ids = {word: number for number, word in enumerate(words, start=END + 1)}

    def encode(text: str) -> list[int]:
        return [*(ids[word] for word in text.split()), END]

    encoded = [(encode(pair.source), encode(pair.target)) for pair in corpus]
    model, random = model_of(kind, END + 1 + len(words), seed), np.random.default_rng(seed)

    def loss_of(_: int) -> Tensor:
        chosen = [encoded[number] for number in random.integers(0, len(encoded), ROWS)]
        return mean_loss(model, Batch.from_ids(*zip(*chosen, strict=True)))

    def progress(done: float, _update: int, _loss: float) -> Progress:
        return Progress(share[0] + share[1] * done)

    yield from train(model, loss_of, config.translations, config.learning_rate, progress)
    scores = []
    for each in tested.values():
        found = generate(model, [encode(pair.source) for pair in each])
        texts = [" ".join(words[token - END - 1] for token in tokens if token > END) for tokens in found]
        scores.append(bleu(texts, [pair.target for pair in each]).score)
        yield Progress(share[0] + share[1])
    return scores


def seconds(kind: str, seed: int, distance: int) -> float:
    """Of the loss and the gradients of one batch: the median of three."""
    from pellucid.labs.networks.torch_training import mean_loss
    from pellucid.text.batch import Batch

    model = model_of(kind, VOCABULARY, seed)
    sources, targets = draw_recall(np.random.default_rng(seed), ROWS, distance)
    batch, times = Batch.from_ids(sources.tolist(), targets.tolist()), []
    for _ in range(3):
        start = process_time()
        mean_loss(model, batch).backward()  # type: ignore[no-untyped-call]
        times.append(process_time() - start)
    return median(times)


def far_recall(data: Data, kind: str, training: str) -> list[float]:
    """From the longest distance, run by run."""
    return [run[training][-1] for run in data["models"][kind]["recall"]]


def decide(data: Data) -> Verdict:
    at_once, short_first = TRAININGS
    rnn = {training: far_recall(data, "RNN", training) for training in TRAININGS}
    looked_up = min(interval(far_recall(data, TRANSFORMER, training)).mean for training in TRAININGS)
    fades = {kind: max(run[-1] / run[0] for run in each["gradient"]) for kind, each in data["models"].items()}
    fades_words = f"{fades['RNN']:.1g}" if fades["RNN"] else "0 (too small for float32)"
    words = (
        f"Trained on all distances at once, the RNN recalls {100 * interval(rnn[at_once]).mean:.0f}% from "
        f"{data['distances'][-1]} places back; trained on short distances first, "
        f"{100 * interval(rnn[short_first]).mean:.0f}%; the Transformer at least {100 * looked_up:.0f}%. Before "
        f"training the RNN's gradient from there, as a share of that from {data['distances'][0]} places, is "
        f"{fades_words}."
    )
    keeps = [sum(share >= RECALLED for share in shares) > len(shares) / 2 for shares in rnn.values()]
    if any(keeps):
        return Verdict("refuted", f"An RNN need not lose what it saw long ago. {words}")
    forgets = all(interval(shares).high <= FORGOTTEN for shares in rnn.values())
    if forgets and looked_up >= RECALLED and fades["RNN"] < VANISHED < fades[TRANSFORMER]:
        return Verdict("shown", words)
    return Verdict("not decided", words)


def draw(data: Data) -> list[Figure]:
    models, distances = data["models"], data["distances"]
    by_distance, places = axis("distance", log=True), range(len(data["distances"]))

    recalled = [
        [
            series_over_seeds(
                kind, distances, [[100 * run[training][place] for run in each["recall"]] for place in places]
            )
            for kind, each in models.items()
        ]
        for training in TRAININGS
    ]
    gradients = [
        series(kind, distances, [max(median(x), 1e-30) for x in zip(*each["gradient"], strict=True)])
        for kind, each in models.items()
    ]
    clauses = list(range(1, data["clauses"] + 1))
    translated = [
        series_over_seeds(kind, clauses, list(zip(*each["bleu"], strict=True))) for kind, each in models.items()
    ]
    rows = [[kind, f"{each['parameters']:,}"] for kind, each in models.items()]
    return [
        *(
            lines(
                f"Symbols recalled: {training} in the training", by_distance, axis("recalled, %", low=0, high=100),
                curves, f"By chance {100 / KEYS:.0f}%. Each model had {data['updates']} updates.",
            )
            for training, curves in zip(TRAININGS, recalled, strict=True)
        ),
        lines(
            "Gradient from the far symbol, before training", by_distance, axis("norm", log=True), gradients,
            "Median of the runs; smaller ones than 1e-30 are drawn there. What has no gradient teaches nothing.",
        ),
        lines(
            "Seconds of one update, by length", by_distance, axis("CPU seconds", log=True),
            [series(kind, distances, seconds) for kind, seconds in data["timing"].items()],
            "Loss and gradients of 16 sequences on one core. A recurrent network takes as "
            "many steps one after the other as there are symbols; on one core a Transformer computes all pairs.",
        ),
        lines(
            "Translation, by the length of the sentence", axis("clauses"), axis("BLEU", low=0, high=100), translated,
            "English to German by a small grammar; a clause has five to seven words. The trainings are short.",
        ),
        table("Size of the models for recall", ["model", "parameters"], rows),
    ]  # fmt: skip


LAB = Lab(
    name="recurrence",
    claims="C4",
    title="Do recurrent networks forget?",
    question="How far back can an RNN, an LSTM and a Transformer of equal size look?",
    notes="An RNN is slow on long sequences because it is sequential, its gradients vanish or explode, and it loses "
    "what it saw long ago; a Transformer sees all positions in parallel.",
    method="Four encoder-decoders with about equally many parameters (torch's RNN and LSTM, an LSTM with attention, "
    "the Transformer of the product) are trained by the same batches and loss: to recall a symbol that stood 2 to 200 "
    "places back, with all distances at once or short distances first, and to translate generated sentences. The "
    "gradient from the far symbol is measured before the training.",
    criterion="Shown if from the longest distance the RNN recalls at most half (its interval below) in both "
    "trainings, the Transformer at least 90% in both, and the RNN's gradient from there is below a thousandth of that "
    "from the shortest distance, the Transformer's above. Refuted if in either training most RNNs recall at least 90% "
    "from there.",
    refuted_by="An RNN that recalls at least 90% from the longest distance.",
    broken="Short distances are left out of both trainings.",
    settings=Settings,
    quick={"seeds": 1, "longest": 20, "updates": 80, "learning_rate": 0.01, "translations": 2, "clauses": 1},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
