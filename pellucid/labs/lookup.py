"""C7: attention as a soft dictionary, from blurred to exact."""

from __future__ import annotations

import numpy as np

from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, lines, matrix, series_over_seeds
from pellucid.labs.parts.intervals import interval
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.reference.functions import Array, attention

SCALES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SHOWN = (0, 3, 4, 6)  # of the scales, whose weights are pictured
EXACT, BLURRED = 1e-3, 0.5  # the error of an output, relative to its value


class Settings(LabConfig):
    entries: int = setting(8, "pairs of a key and a value", minimum=2, maximum=64)
    size: int = setting(32, "size of a key (d_k)", minimum=2, maximum=256)


def measure(config: Settings) -> Steps[Data]:
    errors, right = [], []
    for number, scale in enumerate(SCALES):
        found = [look_up(config, seed, scale) for seed in config.all_seeds]
        errors.append([error for error, _ in found])
        right.append([float(np.diagonal(weights).mean()) for _, weights in found])
        yield Progress(number / len(SCALES), "error", scale, errors[-1][0])
    pictured = [look_up(config, config.seed, SCALES[at])[1] for at in SHOWN]
    return {
        "entries": config.entries,
        "errors": errors,
        "right_key": right,
        "weights": [np.round(weights, 4).tolist() for weights in pictured],
    }


def look_up(config: Settings, seed: int, scale: float) -> tuple[float, Array]:
    """Ask for every entry by its own key: the mean error of what comes back, and the weights (query, key)."""
    random = np.random.default_rng(seed)
    keys, values, others = (random.normal(size=(config.entries, config.size)) for _ in range(3))
    queries = others if config.broken else keys
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (queries, keys)]
    # (entries, size) -> (1, 1, entries, size). Attention divides by sqrt(d_k), so a scale of 1 is one after that.
    q, k, v = (each[None, None] for each in (unit[0] * np.sqrt(config.size), unit[1] * scale, values))
    output, weights = attention(q, k, v)
    errors = np.linalg.norm(output[0, 0] - values, axis=1) / np.linalg.norm(values, axis=1)
    return float(errors.mean()), weights[0, 0]


def decide(data: Data) -> Verdict:
    first, last = interval(data["errors"][0]).mean, interval(data["errors"][-1]).mean
    found = f"With small keys the error is {first:.0%} of the value, with keys {SCALES[-1] / SCALES[0]:g} times as long"
    if max(data["errors"][-1]) <= EXACT and min(data["errors"][0]) >= BLURRED:
        return Verdict(
            "shown",
            f"{found} it is at most {max(last, 1e-16):.0e}: the mean of all values becomes the one that was asked for.",
        )
    if min(data["errors"][-1]) > BLURRED:
        return Verdict("refuted", f"{found} it is still {last:.0%}: the query does not find its value.")
    return Verdict("not decided", f"{found} it is {last:.1%}.")


def draw(data: Data) -> list[Figure]:
    names = [str(number) for number in range(1, data["entries"] + 1)]
    panels = [
        {"label": f"scale {SCALES[at]:g}", "values": weights}
        for at, weights in zip(SHOWN, data["weights"], strict=True)
    ]
    scale = axis("scale of the keys", log=True)
    return [
        matrix(
            "Attention weights of every query", panels, names, names,
            note="Rows are queries, columns keys. First all weigh the same; in the end each query has its own key.",
        ),
        lines(
            "Error of the value that comes back", scale, axis("relative error", log=True, low=1e-6),
            [series_over_seeds("error", SCALES, data["errors"])], "Errors below 1e-6 are drawn there.",
        ),
        lines(
            "Weight of the key that was asked for", scale, axis("weight", low=0, high=1),
            [series_over_seeds("weight", SCALES, data["right_key"])],
        ),
    ]  # fmt: skip


LAB = Lab(
    name="lookup",
    claims="C7",
    title="Attention is a soft dictionary",
    question="Does attention return the value whose key is asked for, and how exactly?",
    notes="Queries ask, keys offer, values inform: as in a library a search finds books by their categories. Softmax "
    "weights lie in 0 to 1 and sum to 1.",
    method="A dictionary of 8 random unit keys and random values is asked for every entry by its own key, with the "
    "attention of the reference, while the keys are made longer.",
    criterion="Shown if with the shortest keys the output is off by at least half of the value, and with the "
    "longest by at most a thousandth. Refuted if it is off by more than half with the longest too.",
    refuted_by="Outputs that do not come closer to the value that was asked for.",
    broken="The queries have nothing to do with the keys.",
    settings=Settings,
    quick={"seeds": 3},
    live=("scale of the keys", "error"),
    measure=measure,
    decide=decide,
    draw=draw,
)
