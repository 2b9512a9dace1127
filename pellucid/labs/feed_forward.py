"""C13: what the feed-forward network adds: each position for itself, it stores what attention alone cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series_over_seeds, table
from pellucid.labs.parts.intervals import interval, paired
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pellucid.labs.networks.torch_training import Tagger

NONE, LINEAR, USUAL = "none", "4 × without ReLU", "4 ×"
WIDTHS = {"1 ×": 1, "2 ×": 2, USUAL: 4, "8 ×": 8}
D_MODEL = 16
GAIN = 0.1  # share of the facts
SAME = 1e-5  # of the largest value, in float32: more is no rounding


class Settings(LabConfig):
    symbols: int = setting(32, "symbols; the facts are all pairs of them", minimum=4, maximum=100)
    updates: int = setting(250, "updates of each model", minimum=20, maximum=5000)
    learning_rate: float = setting(0.02, "highest learning rate (Adam)", minimum=0.0001, maximum=0.1)
    all_widths: bool = setting(True, "measure hidden layers of 1, 2, 4 and 8 times d_model, not 4 times alone")


def measure(config: Settings) -> Steps[Data]:
    widths = list(WIDTHS) if config.all_widths else [USUAL]
    variants = [NONE, LINEAR, *widths]
    results: Data = {}
    by_position = []
    for number, name in enumerate(variants):
        runs = []
        for place, seed in enumerate(config.all_seeds):
            model = variant(name, config, seed)
            share = (number + place / config.seeds) / len(variants), 1 / len(variants) / config.seeds
            runs.append((yield from _learn(model, name, config, seed, share)))
            if name == USUAL:
                by_position.append(mixing(model, seed))
        results[name] = {
            "parameters": runs[0]["parameters"],
            "updates": runs[0]["updates"],
            "losses": [run["losses"] for run in runs],
            "right": [run["right"] for run in runs],
        }
    return {"symbols": config.symbols, "variants": results, "mixing_of_positions": by_position}


def variant(name: str, config: Settings, seed: int) -> Tagger:
    """One layer, one head; its feed-forward network as the variant has it."""
    import torch

    from pellucid.labs.networks.torch_training import Tagger, small

    width = D_MODEL * WIDTHS.get(name, WIDTHS[USUAL])
    vocabulary = {"source_vocabulary": max(4, 2 * config.symbols), "target_vocabulary": config.symbols}
    model = Tagger(small(**vocabulary, tie="none", d_model=D_MODEL, feed_forward=width, heads=1), seed)
    for layer in model.encoder.layers:
        if name == NONE:
            layer.feed_forward.register_forward_hook(lambda _module, _inputs, output: torch.zeros_like(output))
            layer.feed_forward.requires_grad_(False)
        if name == LINEAR or config.broken:
            layer.feed_forward.activation = torch.nn.Identity()
    return model


def facts(symbols: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every pair of symbols as ids (pairs, 2), and what is asked for at its second: a symbol drawn for the pair."""
    first, second = np.divmod(np.arange(symbols**2), symbols)
    answers = np.random.default_rng([seed, 1]).integers(0, symbols, symbols**2)
    return np.stack([first, symbols + second], axis=1), np.stack([np.full_like(answers, -1), answers], axis=1)


def _learn(model: Tagger, name: str, config: Settings, seed: int, share: tuple[float, float]) -> Steps[dict[str, Any]]:
    from pellucid.labs.networks.torch_training import train

    ids, names = facts(config.symbols, seed)
    random = np.random.default_rng(seed)

    def loss_of(_: int) -> Any:
        chosen = random.integers(0, len(ids), 256)
        return model.loss(ids[chosen], names[chosen])

    def progress(done: float, update: int, loss: float) -> Progress:
        return Progress(share[0] + share[1] * done, name, update, loss)

    losses = yield from train(model, loss_of, config.updates, config.learning_rate, progress)
    updates, values = zip(*losses, strict=True)
    return {
        "parameters": sum(each.numel() for each in model.parameters() if each.requires_grad),
        "updates": list(updates),
        "losses": list(values),
        "right": model.right(ids, names),
    }


def mixing(model: Tagger, seed: int) -> float:
    """How far the network's outputs are from exchanged when its positions are, as a share of the largest."""
    import torch

    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(8, 6, D_MODEL)).astype(np.float32))
    order = [3, 0, 5, 1, 4, 2]
    with torch.inference_mode():
        [network] = [layer.feed_forward for layer in model.encoder.layers]
        output = network(x)
        return float((network(x[:, order]) - output[:, order]).abs().max() / output.abs().max())


def decide(data: Data) -> Verdict:
    right = {name: run["right"] for name, run in data["variants"].items()}
    shares = {name: f"{100 * interval(each).mean:.0f}%" for name, each in right.items()}
    gains = [paired(right[USUAL], right[other]) for other in (NONE, LINEAR)]
    without = f"{shares[LINEAR]} without its ReLU, {shares[NONE]} without it"
    words = f"{shares[USUAL]} of {data['symbols'] ** 2:,} facts, {without}"
    if all(gain.mean >= GAIN and gain.low > 0 for gain in gains) and max(data["mixing_of_positions"]) < SAME:
        return Verdict(
            "shown",
            f"With a feed-forward network of four times the width the model learned {words}; it treats each position "
            f"for itself.",
        )
    if any(gain.mean < GAIN for gain in gains):
        return Verdict("refuted", f"The feed-forward network adds little: with it the model learned {words}.")
    return Verdict("not decided", f"The runs differ too much: {words}.")


def draw(data: Data) -> list[Figure]:
    variants = data["variants"]
    right = [[100 * share for share in run["right"]] for run in variants.values()]
    curves = [
        series_over_seeds(name, run["updates"], list(zip(*run["losses"], strict=True)))
        for name, run in variants.items()
    ]
    rows = [
        [name, f"{run['parameters']:,}", str(interval(each))]
        for (name, run), each in zip(variants.items(), right, strict=True)
    ]
    return [
        bars(
            "Facts learned, by the width of the feed-forward network", list(variants),
            axis("facts that are right, %", low=0, high=100), [group("facts", right)],
            f"Width in times d_model ({D_MODEL}); 4 is usual. A fact: which symbol belongs to a pair of symbols.",
        ),
        lines("Loss while it trains", axis("update"), axis("loss", low=0), curves),
        table("Parameters", ["network", "trained parameters", "facts that are right, %"], rows),
    ]  # fmt: skip


LAB = Lab(
    name="feed-forward",
    claims="C13",
    title="What the feed-forward network adds",
    question="What is lost without the feed-forward network, or without its non-linearity, and what does width bring?",
    notes="Position by position, d_model is mapped to something wider and back (512, 2048, 512), with ReLU or GELU.",
    method="A model of one layer learns facts by heart: which of 32 symbols belongs to each pair of symbols, drawn at "
    "random. The feed-forward network is left out, loses its ReLU (with equally many parameters), or has one to eight "
    "times the width of the model. It is also given the same vectors in another order.",
    criterion="Shown if with four times the width the model learns at least 10% of the facts more than without the "
    "network, and than without its ReLU (95% intervals above 0), and positions in another order give the same outputs "
    "in that order.",
    refuted_by="A model that learns as many facts without the network or without its ReLU.",
    broken="Every network loses its ReLU.",
    settings=Settings,
    quick={"seeds": 1, "symbols": 24, "updates": 140, "all_widths": False},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
