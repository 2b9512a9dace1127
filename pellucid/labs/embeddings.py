"""C5: tokens become vectors, and training brings words of like meaning together."""

from __future__ import annotations

import numpy as np

from pellucid.config import DEFAULT_MODEL
from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, points, table
from pellucid.labs.parts.intervals import interval
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.model_directory import ModelDirectory
from pellucid.reference.functions import Array

# Words that were sorted by meaning before anything was measured. Those of several tokens are left out.
GROUPS = {
    "days": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "months": "January February March April May June July August September October November December",
    "numbers": "two three four five six seven eight nine ten twenty hundred thousand",
    "colours": "red blue green yellow black white brown",
    "family": "father mother brother sister son daughter uncle aunt parents wife husband",
    "places": "house room kitchen garden school hospital station church street city village",
}
MAPPED = ("days", "numbers", "colours", "family", "places")
PHRASE = "I love NLP"
ASKED = ("Monday", "seven", "red", "brother", "house")
NEIGHBOURS = 5


class Settings(LabConfig):
    neighbours: int = setting(1, "nearest words that are looked at, for every word", minimum=1, maximum=5)


def measure(config: Settings) -> Steps[Data]:
    directory = ModelDirectory.find(DEFAULT_MODEL)
    trained = np.asarray(directory.weights()["source_embedding.weight"], np.float64)
    yield Progress(0.3)
    ids, labels, words = vocabulary(directory)
    after, before = [], []
    for number, seed in enumerate(config.all_seeds):
        random = np.random.default_rng(seed)
        chosen = random.permutation(trained) if config.broken else trained
        after.append(share_in_group(chosen[ids], labels, config.neighbours))
        start = random.normal(0.0, trained.shape[1] ** -0.5, trained.shape)
        before.append(share_in_group(start[ids], labels, config.neighbours))
        yield Progress(0.3 + 0.7 * (number + 1) / config.seeds, "in the group", number, after[-1])
    random = np.random.default_rng(config.seed)
    shown = random.permutation(trained) if config.broken else trained
    initial = random.normal(0.0, trained.shape[1] ** -0.5, trained.shape)
    return {
        "after": after,
        "before": before,
        "chance": chance(labels),
        "tokens": tokens(directory, trained),
        "neighbours": nearest_words(directory, shown),
        "maps": {"before": flat_map(initial[ids], labels, words), "after": flat_map(shown[ids], labels, words)},
    }


def vocabulary(directory: ModelDirectory) -> tuple[list[int], list[str], list[str]]:
    """The token, the group and the text of every word that is one token."""
    encode = directory.tokenizers.source.encode
    found = [(encode(word), name, word) for name, words in GROUPS.items() for word in words.split()]
    single = [(ids[0], name, word) for ids, name, word in found if len(ids) == 1]
    ids, names, words = zip(*single, strict=True)
    return list(ids), list(names), list(words)


def cosines(vectors: Array) -> Array:
    """Between all vectors; of a vector with itself minus infinity, so that it is not its own neighbour."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Array = unit @ unit.T
    np.fill_diagonal(found, -np.inf)
    return found


def share_in_group(vectors: Array, labels: list[str], neighbours: int) -> float:
    """Of the nearest words to every word, among all words of the groups, the share that is of its group."""
    nearest = np.argsort(-cosines(vectors), axis=1)[:, :neighbours]
    own = np.array(labels)
    return float((own[nearest] == own[:, None]).mean())


def chance(labels: list[str]) -> float:
    """The same share for neighbours drawn blindly."""
    counts = {name: labels.count(name) for name in set(labels)}
    return sum(counts[name] - 1 for name in labels) / (len(labels) * (len(labels) - 1))


def tokens(directory: ModelDirectory, vectors: Array) -> list[list[str]]:
    """The tokens of a phrase: text, id, and the first numbers of the vector."""
    tokenizer = directory.tokenizers.source
    ids = tokenizer.encode(PHRASE)
    texts = tokenizer.readable(ids)
    return [
        [text, str(number), ", ".join(f"{value:.2f}" for value in vectors[number][:4]) + ", …"]
        for text, number in zip(texts, ids, strict=True)
    ]


def nearest_words(directory: ModelDirectory, vectors: Array) -> list[list[str]]:
    """The nearest tokens of the whole vocabulary, of both languages."""
    tokenizer = directory.tokenizers.source
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = []
    for word in ASKED:
        [number] = tokenizer.encode(word)
        near = np.argsort(-(unit @ unit[number]))[1 : NEIGHBOURS + 1]
        rows.append([word, ", ".join(tokenizer.readable(near.tolist()))])
    return rows


def flat_map(vectors: Array, labels: list[str], words: list[str]) -> Data:
    """The two directions in which the words of the map differ most (principal components)."""
    places = [at for at, name in enumerate(labels) if name in MAPPED]
    unit = vectors[places] / np.linalg.norm(vectors[places], axis=1, keepdims=True)
    centred = unit - unit.mean(axis=0)
    components = np.linalg.svd(centred, full_matrices=False)[2][:2]
    components *= np.sign(components[:, np.abs(components).argmax(axis=1)].diagonal())[:, None]  # svd leaves signs open
    flat = np.round(centred @ components.T, 3)
    return {
        name: [[words[place], *flat[at].tolist()] for at, place in enumerate(places) if labels[place] == name]
        for name in MAPPED
    }


def decide(data: Data) -> Verdict:
    after, before = interval(data["after"]), interval(data["before"])
    found = f"of a word's nearest words {after.mean:.0%} have its kind of meaning, {before.mean:.0%} before training"
    if after.low > max(before.high, 2 * data["chance"]):
        return Verdict("shown", f"In the shipped model {found}; by chance it would be {data['chance']:.0%}.")
    return Verdict("refuted", f"Training did not bring like words together: {found}.")


def draw(data: Data) -> list[Figure]:
    names = ["before training", "after training", "by chance"]
    shares = [[100 * value for value in each] for each in (data["before"], data["after"], [data["chance"]])]
    return [
        table("From text to vectors", ["token", "id", "vector, of which the first numbers"], data["tokens"]),
        bars("Nearest words of the same group", names, axis("%", low=0, high=100), [group("", shares)]),
        table(
            "Nearest tokens in the whole vocabulary", ["token", "nearest"], data["neighbours"],
            "English and German share one vocabulary: some neighbours are translations.",
        ),
        *(
            points(
                f"Words {when} training", axis("first component"), axis("second component"),
                [
                    {"name": name, "x": [row[1] for row in rows], "y": [row[2] for row in rows],
                     "labels": [row[0] for row in rows] if when == "after" else None}
                    for name, rows in data["maps"][when].items()
                ],
                "Two of many dimensions: those in which these words differ most.",
            )
            for when in ("before", "after")
        ),
    ]  # fmt: skip


LAB = Lab(
    name="embeddings",
    claims="C5",
    title="Tokens become vectors that training arranges",
    question="Are words of like meaning near one another in the shipped model, and were they before training?",
    notes="Text becomes token ids, places in a vocabulary, and these become vectors of size d_model.",
    method="Words of six groups (days, months, numbers, colours, family, places) are looked up in the embeddings "
    "of the shipped model, and in five tables of random numbers as training begins with. Of every word, the "
    "nearest one by cosine is in its group or not.",
    criterion="Shown if the share of nearest words from the same group lies above that before training, beyond both "
    "intervals, and above twice what chance gives. Refuted otherwise.",
    refuted_by="Neighbours in the trained model that are no more alike than random ones.",
    broken="The trained vectors are dealt out to other tokens.",
    settings=Settings,
    quick={"seeds": 3},
    live=("seed", "share in the group"),
    measure=measure,
    decide=decide,
    draw=draw,
)
