"""C10: several heads learn several relations: on a task that needs two, and in the shipped model head by head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.evaluation.metrics import bleu
from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, matrix, series_over_seeds, table
from pellucid.labs.parts.intervals import Interval, interval, paired
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.labs.parts.sentences import SENTENCES
from pellucid.tracing.heads import describe_head
from pellucid.tracing.trace import ATTENTIONS, Attention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pellucid.decode.engines.torch import TorchEngine

SYMBOLS, LENGTH = 4, 10
D_MODEL = 32
BEFORE, AFTER = 1, 2  # the two relations: the symbol one place before, and the one two places after
COUNTS = (1, 2, 4, 8)
GAIN = 0.1  # share of the positions that several heads get right more often than one
ROLES = 2  # different ones, in the shipped model


class Settings(LabConfig):
    updates: int = setting(250, "updates of each model", minimum=20, maximum=5000)
    learning_rate: float = setting(0.01, "highest learning rate (Adam)", minimum=0.0001, maximum=0.1)
    most_heads: int = setting(8, "the largest number of heads; the others are 1, 2, 4", minimum=2, maximum=8)
    sentences: int = setting(30, "sentences that the shipped model translates", minimum=2, maximum=len(SENTENCES))
    every: int = setting(1, "remove every n-th head of the shipped model only; 1: each", minimum=1, maximum=56)


def measure(config: Settings) -> Steps[Data]:
    counts = [count for count in COUNTS if count <= config.most_heads]
    tasks: Data = {}
    for number, count in enumerate(counts):
        runs = []
        for place, seed in enumerate(config.all_seeds):
            done = 0.5 * (number + place / config.seeds) / len(counts)
            runs.append((yield from _train(config, count, seed, (done, 0.5 / len(counts) / config.seeds))))
        tasks[str(count)] = {
            "updates": runs[0]["updates"],
            "losses": [run["losses"] for run in runs],
            "right": [run["right"] for run in runs],
            "parameters": runs[0]["parameters"],
        }
    shipped = yield from _shipped(config)
    return {"heads": tasks, "shipped": shipped}


def draw_task(
    random: np.random.Generator, rows: int, broken: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Symbols (rows, length), and what each position is asked for: the symbol before it and the one two places after,
    as one number; -1 where there is none. Broken: the one before it, twice."""
    symbols = random.integers(0, SYMBOLS, (rows, LENGTH))
    before = symbols[:, : -BEFORE - AFTER]
    after = before if broken else symbols[:, BEFORE + AFTER :]
    names = np.full(symbols.shape, -1)
    names[:, BEFORE:-AFTER] = SYMBOLS * before + after
    return symbols, names


def _train(config: Settings, heads: int, seed: int, share: tuple[float, float]) -> Steps[dict[str, Any]]:
    """One layer with so many heads of size D_MODEL / heads: the weights are as many, whatever the number."""
    from pellucid.labs.networks.torch_training import Tagger, small, train

    shape = small(
        source_vocabulary=SYMBOLS,
        target_vocabulary=SYMBOLS**2,
        tie="none",
        d_model=D_MODEL,
        feed_forward=64,
        heads=heads,
    )
    model, random = Tagger(shape, seed), np.random.default_rng(seed)

    def progress(done: float, update: int, loss: float) -> Progress:
        return Progress(share[0] + share[1] * done, f"{heads} head{'s' * (heads > 1)}", update, loss)

    def loss_of(_: int) -> Any:
        return model.loss(*draw_task(random, 32, config.broken))

    losses = yield from train(model, loss_of, config.updates, config.learning_rate, progress)
    updates, values = zip(*losses, strict=True)
    tested = draw_task(np.random.default_rng([seed, 1]), 200, config.broken)
    return {
        "updates": list(updates),
        "losses": list(values),
        "right": model.right(*tested),
        "parameters": sum(each.numel() for each in model.parameters()),
    }


# --- the shipped model ------------------------------------------------------------------------------------------------


def _shipped(config: Settings) -> Steps[Data]:
    """BLEU without each head, and where the head attends to."""
    import torch

    from pellucid.decode.engines.torch import TorchEngine
    from pellucid.labs.networks.torch_changes import removed_head
    from pellucid.model_directory import ModelDirectory

    directory = ModelDirectory.find("en-de")
    engine, tokenizers = TorchEngine(directory, torch.float32), directory.tokenizers
    sources = [tokenizers.encode_source(english, "de") for english, _ in SENTENCES[: config.sentences]]
    references = [german for _, german in SENTENCES[: config.sentences]]
    whole, outputs = _translate(engine, sources, references, tokenizers.target.decode_batch)
    yield Progress(0.5)
    roles = _roles(engine, sources, outputs)
    shape = directory.config
    found = []
    places = [
        (part, layer, head)
        for part in ATTENTIONS
        for layer in range(shape.encoder_layers if part.startswith("encoder") else shape.decoder_layers)
        for head in range(shape.heads)
    ]
    for number, (part, layer, head) in enumerate(places):
        yield Progress(0.5 + 0.5 * number / len(places))
        without = None
        if number % config.every == 0:
            with removed_head(engine.model, part, layer, head):
                without, _ = _translate(engine, sources, references, tokenizers.target.decode_batch)
        row = {"part": part, "layer": layer, "head": head, **roles[part, layer, head]}
        found.append({**row, "lost": None if without is None else whole - without})
    return {"bleu": whole, "sentences": config.sentences, "heads": found}


def _translate(
    engine: TorchEngine, sources: Sequence[list[int]], references: list[str], decode: Any
) -> tuple[float, list[list[int]]]:
    """BLEU of greedy search, and the tokens."""
    from pellucid.config import DecodeConfig
    from pellucid.decode.hypotheses import Sentence

    sentences = [Sentence(tuple(source), (), "de") for source in sources]
    found = [best for [best] in engine.search(sentences, DecodeConfig(strategy="greedy"))]
    return bleu(decode([each.tokens for each in found]), references).score, [each.with_end for each in found]


def _roles(
    engine: TorchEngine, sources: Sequence[list[int]], outputs: list[list[int]]
) -> dict[tuple[Attention, int, int], Data]:
    """Where each head mainly attends to, in most of the sentences, and among how many tokens it divides its weight."""
    from pellucid.nn.taps import attach

    seen: dict[tuple[Attention, int, int], list[Any]] = {}
    for source, output in zip(sources, outputs, strict=True):
        with attach(engine.model, "*attention.weights") as record:
            engine.logits(source, output)
        for name, [weights] in record.items():
            stack, _, layer, sublayer, _ = name.split(".")
            part: Attention = f"{stack}.{sublayer}"  # type: ignore[assignment]
            for head, each in enumerate(weights[0].double().numpy()):
                described = describe_head(part, int(layer), head, each)
                seen.setdefault((part, int(layer), head), []).append((described.mainly, described.spread))
    return {key: {"role": _most([role for role, _ in each]), "spread": _mean(each)} for key, each in seen.items()}


def _most(roles: list[str]) -> str:
    """The role that a head has in more than half of the sentences; empty: none in particular."""
    best = max(sorted(set(roles)), key=roles.count)
    return best if roles.count(best) > len(roles) / 2 else ""


def _mean(each: list[tuple[str, float]]) -> float:
    return sum(spread for _, spread in each) / len(each)


# --- the verdict ------------------------------------------------------------------------------------------------------


def gain(data: Data) -> tuple[str, Interval]:
    """The number of heads that does best, and what it gets right beyond one head."""
    right = {count: run["right"] for count, run in data["heads"].items()}
    best = max((count for count in right if count != "1"), key=lambda count: interval(right[count]).mean)
    return best, paired(right[best], right["1"])


def decide(data: Data) -> Verdict:
    best, more = gain(data)
    one = interval(data["heads"]["1"]["right"]).mean
    roles = sorted({head["role"] for head in data["shipped"]["heads"]} - {""})
    task = f"one head gets {100 * one:.0f}% of the positions right, {best} heads get {100 * (one + more.mean):.0f}%"
    if more.mean >= GAIN and more.low > 0 and len(roles) >= ROLES:
        return Verdict(
            "shown",
            f"On a task with two relations {task}, with as many weights; in the shipped model some heads attend "
            f"mainly to one place ({', '.join(WORDS[role] for role in roles)}).",
        )
    if more.mean < GAIN:
        return Verdict("refuted", f"Several heads are hardly better than one: {task}.")
    return Verdict("not decided", f"With two relations {task}; the shipped model shows {len(roles)} roles.")


WORDS = {
    "itself": "the token itself",
    "previous": "the token before",
    "next": "the token after",
    "first": "the first token",
    "end": "the end",
    "": "no place in particular",
}


def draw(data: Data) -> list[Figure]:
    tasks, shipped = data["heads"], data["shipped"]
    right = [[100 * share for share in run["right"]] for run in tasks.values()]
    counts = [f"{count} head{'s' * (count != '1')}" for count in tasks]
    curves = [
        series_over_seeds(name, run["updates"], list(zip(*run["losses"], strict=True)))
        for name, run in zip(counts, tasks.values(), strict=True)
    ]
    removed = [head for head in shipped["heads"] if head["lost"] is not None]
    worst = sorted(removed, key=lambda head: -head["lost"])
    rows = [
        [_name(head), WORDS[head["role"]], f"{head['spread']:.1f}", f"{head['lost']:+.1f}"]
        for head in (worst if len(worst) <= 12 else [*worst[:8], *worst[-4:]])
    ]
    names = sorted({f"{head['part']} {head['layer'] + 1}" for head in removed})
    lost = [
        [next((h["lost"] for h in removed if f"{h['part']} {h['layer'] + 1}" == name and h["head"] == head), 0.0)
         for head in range(max(h["head"] for h in shipped["heads"]) + 1)]
        for name in names
    ]  # fmt: skip
    weights = next(iter(tasks.values()))["parameters"]
    what = f"Of {shipped['sentences']} sentences, greedy search; BLEU of the whole model is {shipped['bleu']:.1f}."
    return [
        bars(
            "A task with two relations", counts,
            axis("positions that are right, %", low=0, high=100), [group("heads", right)],
            f"One layer, {weights:,} weights in every model: more heads are smaller heads.",
        ),
        lines("Loss on that task", axis("update"), axis("loss", low=0), curves),
        matrix(
            "BLEU lost without a head of the shipped model", [{"label": "BLEU lost", "values": lost}], names,
            [str(head + 1) for head in range(len(lost[0]))], signed=True, note=what,
        ),
        table(
            "Heads that matter most and least", ["head", "mainly attends to", "spread over tokens", "BLEU lost"], rows,
            f"{what} A role is a place that gets more than half of the weight in most sentences.",
        ),
    ]  # fmt: skip


def _name(head: Data) -> str:
    return f"{head['part']}, layer {head['layer'] + 1}, head {head['head'] + 1}"


LAB = Lab(
    name="heads",
    claims="C10",
    title="Several heads, several relations",
    question="What do several heads learn that one of the same total size does not?",
    notes="h heads of size d_model / h run in parallel, are concatenated and projected; heads learn different "
    "relations, such as word order or meaning in context.",
    method="One layer with 1, 2, 4 or 8 heads, all with equally many weights, has to name two other symbols for each "
    "position: the one before it and the one two places after. Each head of the shipped "
    "model is removed in turn, BLEU is measured without it, and its attention is described.",
    criterion="Shown if the best number of heads above one gets at least 10 points more of the positions right than "
    "one head (95% interval above 0), and the heads of the shipped model have at least two different roles.",
    refuted_by="One head that does as well as several on the task with two relations.",
    broken="The task asks for one relation twice.",
    settings=Settings,
    quick={"seeds": 1, "updates": 130, "most_heads": 4, "sentences": 3, "every": 28},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
