"""C9: do tokens attend most to themselves?"""

from __future__ import annotations

import numpy as np

from pellucid.config import DEFAULT_MODEL
from pellucid.fields import setting
from pellucid.labs.networks.random_model import random_model
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, matrix, series_over_seeds
from pellucid.labs.parts.intervals import interval
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.labs.parts.phrases import pairs
from pellucid.labs.parts.sentences import SENTENCES
from pellucid.model_directory import ModelDirectory
from pellucid.reference.functions import Array
from pellucid.reference.model import Transformer
from pellucid.reference.taps import recording
from pellucid.text.batch import pad

ROWS = 50  # sentences computed together
MOST = 0.5  # of the tokens have to attend most to themselves, for the claim


class Settings(LabConfig):
    sentences: int = setting(200, "sentences per seed", minimum=5, maximum=1000)


def measure(config: Settings) -> Steps[Data]:
    directory = ModelDirectory.find(DEFAULT_MODEL)
    trained = Transformer.load(directory)
    if config.broken:
        trained = with_keys_as_queries(trained)
    found: dict[str, list[Array]] = {"untrained": [], "trained": []}
    for number, seed in enumerate(config.all_seeds):
        models = {"untrained": random_model(trained.config, seed), "trained": trained}
        rows = encoded(directory, config.sentences, seed)
        for step, (name, model) in enumerate(models.items()):
            total = np.zeros((3, trained.config.encoder_layers, trained.config.heads))
            for first in range(0, len(rows), ROWS):
                total += count(model, rows[first : first + ROWS])
                done = (number + (step + first / len(rows)) / 2) / config.seeds
                yield Progress(done, name, number, float(total[0].sum() / total[2].sum()))
            found[name].append(total[:2] / total[2])
    return {
        "largest": {name: [each[0].tolist() for each in totals] for name, totals in found.items()},
        "weight": {name: [each[1].tolist() for each in totals] for name, totals in found.items()},
        "sentences": config.sentences * config.seeds,
    }


def encoded(directory: ModelDirectory, count: int, seed: int) -> list[list[int]]:
    """Sentences as the encoder reads them: everyday ones first, in an order of the seed, then those of the grammar."""
    random = np.random.default_rng(seed)
    everyday = [SENTENCES[at][0] for at in random.permutation(len(SENTENCES))[: count // 2]]
    made = [pair.source for pair in pairs(count - len(everyday), seed)]
    return [directory.tokenizers.encode_source(text, "de") for text in everyday + made]


def with_keys_as_queries(model: Transformer) -> Transformer:
    """The model with W_K = W_Q: every token then asks for what it offers itself."""
    changed = {
        name: model.weights[name.replace("self_attention.key", "self_attention.query")] for name in model.weights
    }
    return Transformer(model.config, changed)


def count(model: Transformer, rows: list[list[int]]) -> Array:
    """By layer and head of the encoder, (3, layers, heads): of how many tokens the own weight is the largest, the sum
    of the own weights, and the number of tokens."""
    ids, real = pad(rows)
    record: dict[str, Array] = {}
    model.encode(ids, real, recording(record))
    found = np.zeros((3, model.config.encoder_layers, model.config.heads))
    for layer in range(model.config.encoder_layers):
        weights = record[f"encoder.layers.{layer}.self_attention.weights"]  # (batch, heads, query, key)
        own = np.diagonal(weights, axis1=2, axis2=3)  # (batch, heads, query)
        largest = own >= weights.max(axis=-1)
        found[0, layer] = (largest & real[:, None]).sum(axis=(0, 2))
        found[1, layer] = (own * real[:, None]).sum(axis=(0, 2))
        found[2, layer] = real.sum()
    return found


def shares(data: Data, name: str) -> list[float]:
    """For every seed, the share of tokens that attend most to themselves, over all layers and heads."""
    return [float(np.mean(each)) for each in data["largest"][name]]


def decide(data: Data) -> Verdict:
    trained, untrained = interval(shares(data, "trained")), interval(shares(data, "untrained"))
    heads = np.mean(data["largest"]["trained"], axis=0)
    found = (
        f"In the trained encoder {trained.mean:.0%} of the tokens attend most to themselves, {untrained.mean:.0%} "
        f"before training; by head it is {heads.min():.0%} to {heads.max():.0%}"
    )
    if trained.low > MOST:
        return Verdict("shown", f"{found}.")
    if trained.high < MOST:
        return Verdict("refuted", f"{found}: the diagonal is the largest in some heads, and not in most.")
    return Verdict("not decided", f"{found}.")


def draw(data: Data) -> list[Figure]:
    names = ("untrained", "trained")
    layers = range(1, len(data["largest"]["trained"][0]) + 1)
    means = {name: np.mean(data["largest"][name], axis=0) for name in names}
    heads = [str(head) for head in range(1, means["trained"].shape[1] + 1)]
    panels = [{"label": name, "values": np.round(means[name], 3).tolist()} for name in names]
    by_layer = {name: np.mean(data["largest"][name], axis=2).T * 100 for name in names}  # (layers, seeds)
    own = [[100 * float(np.mean(each)) for each in data["weight"][name]] for name in names]
    return [
        bars(
            "Tokens that attend most to themselves", names, axis("% of tokens", low=0, high=100),
            [group("", [[100 * share for share in shares(data, name)] for name in names])],
            f"Over all layers and heads of the encoder, {data['sentences']:,} sentences.",
        ),
        matrix("The same by layer and head", panels, [f"layer {layer}" for layer in layers], heads),
        lines(
            "The same by layer", axis("layer"), axis("% of tokens", low=0),
            [series_over_seeds(name, layers, by_layer[name].tolist()) for name in names],
        ),
        bars("Weight on the token itself", names, axis("mean weight, %", low=0), [group("", own)]),
    ]  # fmt: skip


LAB = Lab(
    name="diagonal",
    claims="C9",
    title="Tokens rarely attend most to themselves",
    question="Is the diagonal of the attention weights the largest, as the notes say?",
    notes="Tokens attend most to themselves: the diagonal is largest.",
    method="1,000 English sentences go through the encoder of the shipped model (8 layers of 4 heads), and through the "
    "same encoder with random weights. Counted are the tokens whose largest weight is the one on themselves.",
    criterion="Shown if in the trained model more than half of the tokens attend most to themselves, over all "
    "layers and heads, with 95% confidence. Refuted if fewer than half do.",
    refuted_by="A share of tokens below one half.",
    broken="The keys of the trained model are made by the matrix of the queries, so that a token asks for what it "
    "offers.",
    settings=Settings,
    quick={"seeds": 2, "sentences": 12},
    live=("seed", "share of tokens"),
    measure=measure,
    decide=decide,
    draw=draw,
)
