"""One measurement of the growth benchmark, in a process of its own: its peak of memory is that of this point alone."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from benchmarks import corpora
from benchmarks.peers.channel import Channel
from benchmarks.peers.memory import peak_mb
from pellucid.config import DecodeConfig, ModelConfig, TrainConfig, preset
from pellucid.model_directory import ModelDirectory
from pellucid.text.batch import Batch
from pellucid.text.tokenizer import END, SPECIALS, Tokenizer, Tokenizers

LINES = 10_000  # of generated text that the tokenizers are learned from
WRITTEN = 1_000_000  # pairs generated at a time


@dataclass(frozen=True)
class Point:
    """Sentences of a length, all of them equally long on both sides, and a model of preset tiny."""

    length: int = 32
    sentences: int = 64
    vocabulary: int = 8000


def seconds_of(work: Callable[[], object], least: float) -> float:
    """Seconds that one round of the work takes, from as many as fit in the time; a first one does not count."""
    work()
    rounds, began = 0, time.perf_counter()
    while (taken := time.perf_counter() - began) < least or not rounds:
        work()
        rounds += 1
    return taken / rounds


def train(point: Point, threads: int, seconds: float) -> dict[str, Any]:
    """An update of a batch by the training loop's own code, without logging."""
    from benchmarks.works import flop_a_token
    from pellucid.training.data import Data
    from pellucid.training.loop import update
    from pellucid.training.run import Run
    from pellucid.training.state import begin

    shape = preset("tiny", vocabulary=point.vocabulary)
    batch = Batch.from_ids(_sentences(point, seed=1), _sentences(point, seed=2))
    tokens = batch.source_tokens + batch.target_tokens
    config = TrainConfig(threads=threads, device="cpu", precision="float32", batch_tokens=tokens, steps=10**9)
    no_data = cast(Data, SimpleNamespace(digest=""))  # the batch is at hand: a new run asks for nothing else
    with TemporaryDirectory() as folder:
        training = begin(Run(Path(folder) / "run"), no_data, shape, config, None)
        taken = seconds_of(lambda: update(training, [batch]), seconds)
    return {"microseconds": 1e6 * taken / tokens, "peak_mb": peak_mb(), "flop": flop_a_token(shape, [batch])}


def decode(point: Point, model: str, seconds: float) -> dict[str, Any]:
    """Greedy search by the default engine. A model that was not trained must be told where to end."""
    from pellucid.decode.engines import open_engine
    from pellucid.decode.hypotheses import Sentence

    engine = open_engine("ctranslate2", ModelDirectory(model))
    sentences = [Sentence(tuple(ids)) for ids in _sentences(point, seed=1)]
    config = DecodeConfig(strategy="greedy", min_length=point.length, max_length=point.length)
    taken = seconds_of(lambda: engine.search(sentences, config), seconds)
    return {"microseconds": 1e6 * taken / (point.sentences * point.length), "peak_mb": peak_mb()}


def make_model(folder: str, vocabulary: int) -> dict[str, Any]:
    """A model with random weights and a vocabulary of that size, converted for the engine too."""
    from pellucid.decode.engines import open_engine
    from pellucid.nn import Transformer

    directory = Path(folder) / str(vocabulary)
    source, target = corpora.generate(corpora.EUROPARL, LINES)
    tokenizer = Tokenizer.learn([*source, *target], vocabulary)
    Transformer(preset("tiny", vocabulary=len(tokenizer)), seed=1).save(directory)
    Tokenizers(tokenizer, tokenizer).save(directory)
    open_engine("ctranslate2", ModelDirectory(directory)).score([((END,), (END,))])  # converts it
    return {"model": str(directory), "vocabulary": len(tokenizer)}


def write_pairs(source: str, target: str, pairs: int) -> dict[str, Any]:
    """Two aligned files of generated text."""
    with Path(source).open("w", encoding="utf-8") as sources, Path(target).open("w", encoding="utf-8") as targets:
        for number, first in enumerate(range(0, pairs, WRITTEN)):
            made = corpora.generate(corpora.TATOEBA, min(WRITTEN, pairs - first), seed=number + 1)
            for file, lines in zip((sources, targets), made, strict=True):
                file.writelines(f"{line}\n" for line in lines)
    return {}


def corpus(source: str, target: str, threads: int, updates: int) -> dict[str, Any]:
    """Read and store the pairs, or find them stored; then train on them for some updates."""
    from pellucid.config import DataConfig, FilterConfig
    from pellucid.training.data import prepare_data
    from pellucid.training.loop import update
    from pellucid.training.loop import updates as all_updates
    from pellucid.training.run import Run, Settings
    from pellucid.training.state import begin

    config = TrainConfig(threads=threads, device="cpu", precision="float32")
    shape = ModelConfig(**preset("tiny").to_dict() | {"vocabulary": Point.vocabulary})
    began = time.perf_counter()
    data = prepare_data(Settings(DataConfig(source=source, target=target), FilterConfig(), shape, config))
    answer: dict[str, Any] = {"prepared": time.perf_counter() - began, "pairs": len(data.corpus)}
    if updates:
        training = begin(Run(Path(source).parent / "run"), data, data.with_vocabulary(shape), config, None)
        training.run.directory.mkdir(exist_ok=True)
        groups = all_updates(training)
        update(training, next(groups))
        answer["first"] = time.perf_counter() - began
        tokens, began = 0, time.perf_counter()
        for _, group in zip(range(updates), groups, strict=False):
            update(training, group)
            tokens += sum(batch.source_tokens + batch.target_tokens for batch in group)
        answer["microseconds"] = 1e6 * (time.perf_counter() - began) / tokens
    return answer | {"peak_mb": peak_mb()}


def _sentences(point: Point, seed: int) -> list[list[int]]:
    """Ids at random, the end included."""
    random = np.random.default_rng(seed)
    ids = random.integers(len(SPECIALS), point.vocabulary, (point.sentences, point.length - 1))
    return [[*row, END] for row in ids.tolist()]


def main() -> None:
    channel = Channel()
    threads = int(sys.argv[1])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for request in channel.requests():
        match request.pop("do"):
            case "train":
                channel.answer(train(Point(**request["point"]), threads, request["seconds"]))
            case "decode":
                channel.answer(decode(Point(**request["point"]), request["model"], request["seconds"]))
            case "model":
                channel.answer(make_model(**request))
            case "write":
                channel.answer(write_pairs(**request))
            case "corpus":
                channel.answer(corpus(threads=threads, **request))


if __name__ == "__main__":
    main()
