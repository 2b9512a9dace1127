"""What decoding and latency share: the models, the searches, the sentences, and the contenders as workers.

Every contender takes texts and gives texts: finding tokens and joining them again is in the measured time of all.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pellucid
from benchmarks import corpora
from benchmarks.harness import CACHE
from benchmarks.peers.environments import environment
from benchmarks.peers.job import Job
from benchmarks.peers.worker import Worker
from pellucid.config import DEFAULT_MODEL, preset
from pellucid.decode.engines.ctranslate2.convert import convert
from pellucid.model_directory import ModelDirectory

SEARCHES = {"greedy": 1, "beam 5": 5}
DIRECTION = ("en", "de")
COMPUTE_TYPES = ("int8", "float32")  # of CTranslate2 on a CPU; int8_float32 is the same as int8 of a float32 model
TRAIN_PAIRS, HELD_OUT = 30_000, 2_000  # of generated text


def model_options() -> argparse.ArgumentParser:
    """Which models translate; a parent of other parsers."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "--model",
        action="append",
        metavar="DIR",
        help=f"translate with this trained model, may be repeated; default: {DEFAULT_MODEL}, and a small one, "
        "trained here and kept",
    )
    parser.add_argument("--minutes", type=float, default=15, help="of training that small one; default: 15")
    return parser


def each_search(
    arguments: argparse.Namespace, texts: Sequence[str], *, hugging_face: bool = False
) -> Iterator[tuple[str, int, Contenders]]:
    """Every model with every search: what the two are called, the beam, and the workers."""
    for name, directory in models(arguments).items():
        job = lay_out(directory, texts, arguments.threads)
        with contenders(job, arguments.threads, quick=arguments.quick, hugging_face=hugging_face) as workers:
            for search, beam in SEARCHES.items():
                yield f"{name}, {search}", beam, workers


def models(arguments: argparse.Namespace) -> dict[str, ModelDirectory]:
    """Those asked for, by what they are called; by default the one that ships and a small one."""
    if arguments.model:
        found = [ModelDirectory.find(name) for name in arguments.model]
    elif arguments.quick:
        found = [ModelDirectory.find(DEFAULT_MODEL)]
    else:
        found = [ModelDirectory.find(DEFAULT_MODEL), _small(arguments.data, arguments.minutes, arguments.threads)]
    named: dict[str, ModelDirectory] = {}
    for directory in found:
        name = find_name(directory)
        named[f"{name} {directory.fingerprint()[:8]}" if name in named else name] = directory
    return named


def find_name(directory: ModelDirectory) -> str:
    """What a model is called in tables: that of its preset where it has the shape of one."""
    sizes = ("d_model", "heads", "feed_forward", "encoder_layers", "decoder_layers")
    for name in ("tiny", "small", "base", "big"):
        if all(getattr(directory.config, size) == getattr(preset(name), size) for size in sizes):
            return name
    return directory.name


def _small(data: Path | None, minutes: float, threads: int) -> ModelDirectory:
    """A model of preset small, trained once for so many minutes on these pairs."""
    lines = corpora.tatoeba(data) if data else tuple(side[:TRAIN_PAIRS] for side in _generated())
    digest = hashlib.sha256("\n".join([f"{minutes:g}", *lines[0], *lines[1]]).encode()).hexdigest()[:8]
    folder = CACHE / f"small-{digest}"
    if not (folder / "run" / "model" / "model.safetensors").exists():
        shutil.rmtree(folder, ignore_errors=True)  # a training that was broken off
        folder.mkdir(parents=True)
        for side, texts in zip(("source", "target"), lines, strict=True):
            (folder / side).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        files = {side: str(folder / side) for side in ("source", "target")}
        languages = dict(zip(("source_language", "target_language"), DIRECTION, strict=True))
        print(f"training a small model for {minutes:g} minutes", file=sys.stderr, flush=True)
        config = pellucid.TrainConfig(minutes=minutes, threads=threads)
        pellucid.train({**files, **languages}, folder / "run", preset("small", vocabulary=8000), config)
    return ModelDirectory.find(folder / "run")


def sentences(data: Path | None, count: int) -> corpora.Lines:
    """Sentences that no model here was trained on, with their translations."""
    if data:
        return corpora.lines(replace(corpora.TATOEBA, files="tatoeba-en-de/valid"), data, count)
    source, target = _generated()
    return source[TRAIN_PAIRS:][:count], target[TRAIN_PAIRS:][:count]


def _generated() -> corpora.Lines:
    return corpora.tatoeba(None, TRAIN_PAIRS + HELD_OUT)


def lay_out(directory: ModelDirectory, texts: Sequence[str], threads: int) -> Path:
    """The job of a model, in a folder of its own."""
    folder = CACHE / "decoding" / f"{find_name(directory)}-{directory.fingerprint()[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "float32").is_dir():
        convert(directory, folder / "float32", "float32")
    directions = directory.languages.directions
    source, target = DIRECTION if DIRECTION in directions else directions[0] if directions else (None, None)
    tokenizers = directory.tokenizers
    job = Job(
        model=str(directory.path.resolve()),
        shape=directory.config.to_dict(),
        float32=str(folder / "float32"),
        source=source,
        target=target,
        tag=tokenizers.source.pieces(tokenizers.language_tag(target)),
        texts=list(texts),
        threads=threads,
    )
    job.write(folder / "job.json")
    return folder / "job.json"


@dataclass(frozen=True)
class Setting:
    """How CTranslate2 is opened and called."""

    compute_type: str = "int8"
    workers: int = 1
    threads: int = 2  # of each worker
    batch: int = 2048
    batch_type: str = "tokens"

    def request(self) -> dict[str, Any]:
        opened = {"compute_type": self.compute_type, "inter_threads": self.workers, "intra_threads": self.threads}
        return {"open": opened, "batch": self.batch, "batch_type": self.batch_type}

    def __str__(self) -> str:
        return (
            f"{self.compute_type}, {self.workers} × {self.threads} threads, batches of {self.batch} {self.batch_type}"
        )


@dataclass(frozen=True)
class Contenders:
    """The workers of one model. Each sleeps on its line while another one works."""

    pellucid: Worker
    ctranslate2: Worker  # at its best
    documented: Worker  # CTranslate2 too: both settings stay open and warm
    weights: Worker | None = None  # Hugging Face with the same weights
    marian: Worker | None = None  # Hugging Face with the same shape


@contextmanager
def contenders(job: Path, threads: int, *, quick: bool, hugging_face: bool) -> Iterator[Contenders]:
    """`quick`: what our own environment has; else the peers come from pinned ones."""
    peers = Path(sys.executable) if quick else environment("transformers")
    with ExitStack() as stack:

        def start(python: Path | str, module: str, *arguments: str) -> Worker:
            return stack.enter_context(Worker(python, f"benchmarks.peers.{module}", [job, *arguments], threads=threads))

        yield Contenders(
            start(sys.executable, "pellucid_decode"),
            start(peers, "ctranslate2_decode"),
            start(peers, "ctranslate2_decode"),
            start(peers, "transformers_decode", "weights") if hugging_face and can_carry(job) else None,
            start(peers, "transformers_decode", "marian") if hugging_face else None,
        )


def can_carry(job: Path) -> bool:
    """Whether Hugging Face has an architecture that takes the weights as they are."""
    shape = Job.read(job).shape
    fixed = {"positions": "sinusoidal", "norm": "layer", "norm_place": "pre", "tie": "all", "activation": "relu"}
    flags = {"embedding_norm": False, "bias": True, "output_bias": False}
    return all(shape[name] == value for name, value in {**fixed, **flags}.items()) and not shape.get("kv_heads")
