"""C18: one token at a time with a cache of keys and values: the same numbers, for far fewer operations."""

from __future__ import annotations

from statistics import median
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, lines, series, table
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from pellucid.config import ModelConfig
    from pellucid.nn import Transformer

    Decode = Callable[[Transformer, Tensor, Tensor], Iterator[Tensor]]

EQUAL, DIFFERENT = 1e-10, 1e-6  # of the largest logit, in float64
WORTH = 0.25  # of the longest output's length: so many times fewer operations at least
VOCABULARY, SOURCE_LENGTH = 200, 16
SHORTEST = 4


class Settings(LabConfig):
    longest: int = setting(128, "tokens of the longest output; the shortest has 4", minimum=8, maximum=512)
    repeats: int = setting(3, "timings of each length; the median counts", minimum=1, maximum=20)


def measure(config: Settings) -> Steps[Data]:
    from pellucid.labs.networks.torch_training import small
    from pellucid.nn import Transformer

    shape = small(VOCABULARY, encoder_layers=2, decoder_layers=2)
    lengths = [SHORTEST * 2**k for k in range(10) if SHORTEST * 2**k <= config.longest]
    decoders = {"with the cache": forgetful if config.broken else cached, "without the cache": uncached}
    differences: list[float] = []
    operations: dict[str, list[int]] = {name: [] for name in decoders}
    timing: dict[str, list[float]] = {name: [] for name in decoders}
    for place, seed in enumerate(config.all_seeds):
        model = Transformer(shape, seed).double().eval()
        first, second = (_logits(decode, model, seed, lengths[-1]) for decode in decoders.values())
        differences.append(float((first - second).abs().max() / second.abs().max()))
        yield Progress(0.3 * (place + 1) / config.seeds)
    model = Transformer(shape, config.seed).eval()
    for place, length in enumerate(lengths):
        for name, decode in decoders.items():
            operations[name].append(count_multiply_adds(decode, model, length))
            timing[name].append(_seconds(decode, model, length, config.repeats))
            yield Progress(0.3 + 0.7 * place / len(lengths), name, length, operations[name][-1])
    return {
        "lengths": lengths,
        "differences": differences,
        "multiply_adds": operations,
        "cache_numbers": [cache_numbers(shape, length) for length in lengths],
        "timing": timing,
    }


def cached(model: Transformer, source: Tensor, target: Tensor) -> Iterator[Tensor]:
    """Logits (1, vocabulary) of the next token, step by step: each step reads one token, and all keys and values so far
    from the cache."""
    yield from _steps(model, source, target, forget=False)


def forgetful(model: Transformer, source: Tensor, target: Tensor) -> Iterator[Tensor]:
    """The same with a cache that loses the keys and values of every target token."""
    yield from _steps(model, source, target, forget=True)


def _steps(model: Transformer, source: Tensor, target: Tensor, forget: bool) -> Iterator[Tensor]:
    import torch

    real = torch.ones_like(source, dtype=torch.bool)
    start = cache = model.start(model.encode(source, real), real)
    for place in range(target.shape[1]):
        logits, cache = model.step(target[:, place : place + 1], start if forget else cache)
        yield logits[:, 0]


def uncached(model: Transformer, source: Tensor, target: Tensor) -> Iterator[Tensor]:
    """Without it: each step reads all tokens so far anew, and only its last logits are of use."""
    import torch

    real = torch.ones_like(source, dtype=torch.bool)
    memory = model.encode(source, real)
    for place in range(target.shape[1]):
        yield model.decode(target[:, : place + 1], memory, real)[:, -1]


def _logits(decode: Decode, model: Transformer, seed: int, length: int) -> Tensor:
    import torch

    with torch.inference_mode():
        return torch.cat(list(decode(model, *_ids(seed, length))))


def _ids(seed: int, length: int) -> tuple[Tensor, Tensor]:
    import torch

    random = np.random.default_rng(seed)
    source, target = (random.integers(3, VOCABULARY, (1, size)) for size in (SOURCE_LENGTH, length))
    return torch.from_numpy(source), torch.from_numpy(target)


def count_multiply_adds(decode: Decode, model: Transformer, length: int) -> int:
    """Of all matrix products, as torch counts them while they are computed (two operations each). Attention that shows
    its weights is computed product by product; those of the fused kernel are not counted."""
    from torch.utils.flop_counter import FlopCounterMode

    from pellucid.nn.taps import attach

    with attach(model, "*.weights"), FlopCounterMode(display=False) as counter:
        _logits(decode, model, 1, length)
    return int(counter.get_total_flops()) // 2


def _seconds(decode: Decode, model: Transformer, length: int, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = process_time()
        _logits(decode, model, 1, length)
        times.append(process_time() - start)
    return median(times)


def cache_numbers(shape: ModelConfig, length: int) -> int:
    """How many numbers the cache holds at the end: a key and a value of every head for each token of both sides."""
    return shape.decoder_layers * 2 * shape.key_heads * shape.d_head * (SOURCE_LENGTH + length)


def decide(data: Data) -> Verdict:
    largest, length = max(data["differences"]), data["lengths"][-1]
    ratios = [slow / fast for fast, slow in zip(*_both(data["multiply_adds"]), strict=True)]
    if largest > DIFFERENT:
        return Verdict("refuted", f"With the cache the logits differ by {largest:.1g} from those without it.")
    if largest < EQUAL and ratios == sorted(ratios) and ratios[-1] >= WORTH * length:
        return Verdict(
            "shown",
            f"Each token is fed back and the rest comes from the cache: the logits are the same (largest difference "
            f"{largest:.0e}), and {length} tokens take {ratios[-1]:.0f} times fewer operations than without it.",
        )
    return Verdict("not decided", f"The logits differ by {largest:.0e}; {ratios[-1]:.1f} times fewer operations.")


def _both(values: dict[str, list[float]]) -> tuple[list[float], list[float]]:
    return values["with the cache"], values["without the cache"]


def draw(data: Data) -> list[Figure]:
    lengths, operations = data["lengths"], data["multiply_adds"]
    by_length = axis("tokens of the output", log=True)
    counted = [series(name, lengths, values) for name, values in operations.items()]
    timed = [series(name, lengths, values) for name, values in data["timing"].items()]
    seeds = list(range(1, len(data["differences"]) + 1))
    rows = [
        [str(length), f"{with_it:,}", f"{without:,}", f"{without / with_it:.1f}", f"{numbers:,}"]
        for length, with_it, without, numbers in zip(lengths, *_both(operations), data["cache_numbers"], strict=True)
    ]
    headings = ["tokens", "with the cache", "without", "times", "numbers in the cache"]
    return [
        lines(
            "Operations of a whole output", by_length, axis("multiply-adds", log=True), counted,
            "Counted in the matrix products. Both scales are logarithmic: twice as steep is the square.",
        ),
        lines(
            "Seconds of a whole output", by_length, axis("CPU seconds", log=True), timed,
            "On one core. A step has a fixed cost, so short outputs gain less than is counted.",
        ),
        table("The price is memory", headings, rows, "Multiply-adds. The cache grows with the length."),
        lines(
            "How far the logits differ", axis("run"), axis("difference, of the largest logit", log=True),
            [series("with and without", seeds, [max(value, 1e-17) for value in data["differences"]])],
            "In float64, whose rounding is about 1e-16.",
        ),
    ]  # fmt: skip


LAB = Lab(
    name="cache",
    claims="C18",
    title="The cache: the same numbers for less work",
    question="What does a decoder gain when it keeps the keys and values of the tokens so far?",
    notes="At inference the decoder starts from a start symbol and feeds each token back, one at a time, until the end "
    "symbol or a maximum.",
    method="Random models in float64 read given outputs one token at a time, with a cache of keys and values and by "
    "reading everything anew; their logits are compared. The multiply-adds of the matrix products are counted while "
    "they are computed, and the time is taken.",
    criterion="Shown if the logits are equal within 1e-10 of the largest in every run, and the cache saves more the "
    "longer the output is: at the longest, a quarter of its length times fewer operations or better.",
    refuted_by="Logits with the cache that differ from those without it by more than 1e-6.",
    broken="The cache loses the keys and values of every target token.",
    settings=Settings,
    quick={"seeds": 2, "longest": 16, "repeats": 1},
    live=("tokens of the output", "multiply-adds"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
