"""C17: training needs no generation: one pass over the shifted target computes what token by token would."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict
from pellucid.labs.parts.sentences import SENTENCES

if TYPE_CHECKING:
    from torch import Tensor

    from pellucid.nn import Transformer

EQUAL, DIFFERENT = 1e-10, 1e-6  # of the largest value, in float64
VOCABULARY, ROWS, SOURCE_LENGTH = 40, 4, 9
LENGTHS = (8, 16, 32, 64)  # of the targets that are timed
POSITIONS = 12  # that the drift is shown for


class Settings(LabConfig):
    length: int = setting(20, "tokens of each target whose two computations are compared", minimum=2, maximum=100)
    sentences: int = setting(100, "sentences translated by the shipped model", minimum=1, maximum=len(SENTENCES))
    repeats: int = setting(5, "timings of each length; the median counts", minimum=1, maximum=20)


def measure(config: Settings) -> Steps[Data]:
    from pellucid.nn import Transformer

    differences: dict[str, list[float]] = {"logits": [], "loss": [], "gradients": []}
    for place, seed in enumerate(config.all_seeds):
        yield Progress(0.3 * place / config.seeds)
        model = _model(Transformer, seed, config.broken)
        for name, difference in compare(model, *_ids(seed, config.length)).items():
            differences[name].append(difference)
            yield Progress(0.3 * place / config.seeds, name, place, difference)
    timing: Data = {"one pass": [], "token by token": []}
    for place, length in enumerate(LENGTHS):
        for name, seconds in _seconds(_model(Transformer, config.seed, False), length, config).items():
            timing[name].append(seconds)
            yield Progress(0.3 + 0.2 * place / len(LENGTHS))
    drift = yield from _drift(config)
    return {"length": config.length, "differences": differences, "drift": drift, "timing": timing}


def _model(kind: type[Transformer], seed: int, broken: bool) -> Transformer:
    """A random model in float64."""
    from pellucid.labs.networks.torch_changes import remove_mask
    from pellucid.labs.networks.torch_training import small

    model = kind(small(VOCABULARY, encoder_layers=2, decoder_layers=2), seed).double()
    if broken:
        remove_mask(model)
    return model


def _ids(seed: int, length: int) -> tuple[Tensor, Tensor]:
    import torch

    random = np.random.default_rng(seed)
    source, target = (random.integers(3, VOCABULARY, (ROWS, size)) for size in (SOURCE_LENGTH, length))
    return torch.from_numpy(source), torch.from_numpy(target)


def one_pass(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """As training computes: the whole shifted target at once. Logits (rows, length, vocabulary)."""
    import torch

    from pellucid.text.batch import shifted

    target_in = torch.tensor([shifted(row) for row in target.tolist()])
    logits: Tensor = model(source, torch.ones_like(source, dtype=torch.bool), target_in)
    return logits


def token_by_token(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """As if it were generated: a step for each token, which gets the true token before it."""
    import torch

    from pellucid.text.tokenizer import START

    real = torch.ones_like(source, dtype=torch.bool)
    cache = model.start(model.encode(source, real), real)
    token, steps = torch.full((len(target), 1), START), []
    for place in range(target.shape[1]):
        logits, cache = model.step(token, cache)
        steps.append(logits)
        token = target[:, place : place + 1]
    return torch.cat(steps, dim=1)  # (rows, 1, vocabulary) each -> (rows, length, vocabulary)


def compare(model: Transformer, source: Tensor, target: Tensor) -> dict[str, float]:
    """How far logits, loss and gradients of the two differ, as a share of the largest."""
    import torch
    from torch.nn.functional import cross_entropy

    found = []
    for compute in (one_pass, token_by_token):
        logits = compute(model, source, target)
        loss = cross_entropy(logits.flatten(0, 1), target.flatten())  # over (rows * length, vocabulary)
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        found.append((logits.detach(), loss.detach(), torch.cat([each.flatten() for each in gradients])))
    names = ("logits", "loss", "gradients")
    return {name: float((a - b).abs().max() / a.abs().max()) for name, a, b in zip(names, *found, strict=True)}


def _seconds(model: Transformer, length: int, config: Settings) -> dict[str, float]:
    """The median time of loss and gradients, computed the one and the other."""
    from torch.nn.functional import cross_entropy

    source, target = _ids(config.seed, length)
    found = {}
    for name, compute in (("one pass", one_pass), ("token by token", token_by_token)):
        times = []
        for _ in range(config.repeats):
            start = process_time()
            loss = cross_entropy(compute(model, source, target).flatten(0, 1), target.flatten())
            loss.backward()  # type: ignore[no-untyped-call]
            times.append(process_time() - start)
        found[name] = median(times)
    return found


def _drift(config: Settings) -> Steps[dict[str, Any]]:
    """How often the shipped model predicts the token of the reference, position by position: after the true tokens, and
    after its own."""
    from pellucid.config import DecodeConfig
    from pellucid.decode.engines.torch import TorchEngine
    from pellucid.decode.hypotheses import Sentence
    from pellucid.model_directory import ModelDirectory

    directory = ModelDirectory.find("en-de")
    engine, tokenizers = TorchEngine(directory), directory.tokenizers
    hits: dict[str, list[list[bool]]] = {"after the true tokens": [], "after its own tokens": []}
    greedy = DecodeConfig(strategy="greedy")
    allowed = directory.restriction.ids.get("de", np.arange(len(tokenizers.target)))
    for number, (english, german) in enumerate(SENTENCES[: config.sentences]):
        source, target = tokenizers.encode_source(english, "de"), tokenizers.encode_target(german)
        forced = engine.logits(source, target)[:, allowed].argmax(axis=-1)
        [[best]] = engine.search([Sentence(tuple(source), (), "de")], greedy)
        hits["after the true tokens"].append(agreeing(allowed[forced].tolist(), target))
        hits["after its own tokens"].append(agreeing(best.with_end, target))
        yield Progress(0.5 + 0.5 * number / config.sentences)
    longest = min(POSITIONS, max(map(len, hits["after the true tokens"])))
    return {
        "sentences": config.sentences,
        "right": {
            name: [_share([row[place] for row in rows if place < len(row)]) for place in range(longest)]
            for name, rows in hits.items()
        },
    }


def agreeing(found: Sequence[int], wanted: Sequence[int]) -> list[bool]:
    """Position by position of the wanted tokens."""
    return [place < len(found) and found[place] == token for place, token in enumerate(wanted)]


def _share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)


def decide(data: Data) -> Verdict:
    largest = max(max(each) for each in data["differences"].values())
    times = data["timing"]
    faster = times["token by token"][-1] / times["one pass"][-1]
    if largest < EQUAL:
        return Verdict(
            "refuted",
            f"The decoder does not generate in training: one pass over the shifted target gives the logits, the loss "
            f"and the gradients of {data['length']} single steps (largest difference {largest:.0e}), and for "
            f"{LENGTHS[-1]} tokens it took 1/{faster:.0f} of the time.",
        )
    if largest > DIFFERENT:
        return Verdict("shown", f"One pass computes something else than token by token: they differ by {largest:.1g}.")
    return Verdict("not decided", f"One pass and token by token differ by {largest:.1g}, more than rounding should.")


def draw(data: Data) -> list[Figure]:
    differences, times, right = data["differences"], data["timing"], data["drift"]["right"]
    ratio = [slow / fast for fast, slow in zip(times["one pass"], times["token by token"], strict=True)]
    places = list(range(1, len(right["after the true tokens"]) + 1))
    seeds = list(range(1, len(differences["logits"]) + 1))
    exponents = [series(name, seeds, [max(value, 1e-17) for value in values]) for name, values in differences.items()]
    drift = [series(name, places, [100 * share for share in shares]) for name, shares in right.items()]
    return [
        lines(
            "How far one pass differs from token by token", axis("run"),
            axis("difference, of the largest value", log=True), exponents, "In float64, whose rounding is about 1e-16.",
        ),
        lines(
            "Time of one training step, by length", axis("tokens of the target"), axis("CPU seconds", log=True),
            [series(name, LENGTHS, seconds) for name, seconds in times.items()],
            "Loss and gradients of a small model, on one core.",
        ),
        bars(
            "How many times faster one pass is", [f"{length} tokens" for length in LENGTHS], axis("times"),
            [group("one pass", [[each] for each in ratio])], "From the times above.",
        ),
        lines(
            "Tokens of the reference that the shipped model predicts", axis("position in the target"),
            axis("predicted, %", low=0, high=100), drift,
            f"{data['drift']['sentences']} sentences, English to German. In training, each position follows the true "
            "tokens. When it translates, it follows its own: after one other choice the next ones differ as well, even "
            "where the translation is good.",
        ),
    ]  # fmt: skip


LAB = Lab(
    name="forcing",
    claims="C17",
    title="Training is one pass, not a generation",
    question="Does the decoder have to generate its output token by token while it is trained?",
    notes="Training compares the output with the true tokens by cross-entropy. Some notes say that the decoder "
    "generates sequentially while it is trained.",
    method="Logits, loss and all gradients of random models in float64 are computed from the whole shifted target at "
    "once, and from one step for each token. Both are timed. The shipped model then predicts the "
    "tokens of references after the true tokens and after its own.",
    criterion="Refuted if logits, loss and gradients of one pass equal those of token by token within 1e-10 of the "
    "largest value in every run; shown if they differ by more than 1e-6.",
    refuted_by="One pass that gives what single steps give: nothing has to be generated.",
    broken="The mask is removed from the one pass.",
    settings=Settings,
    quick={"seeds": 2, "length": 8, "sentences": 6, "repeats": 1},
    live=("comparison", "difference"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
