"""What is trained: one folder with the same pairs, vocabulary and batches for every contender.

work.json          the shape of the model and how it is trained
source, target     the pairs as text, from which Pellucid trains
pieces.source ...  the same pairs tokenised, tokens separated by spaces, for toolkits with batches of their own
pieces.vocabulary  the tokens, one per line
batches.npz        Pellucid's own first batches, for those who take arrays
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpora
from benchmarks.harness import CACHE
from pellucid.config import DataConfig, FilterConfig, ModelConfig, TrainConfig, preset
from pellucid.model_directory.describe import describe
from pellucid.text.batch import Batch, batches
from pellucid.text.tokenizer import END
from pellucid.training.data import Data, prepare_data
from pellucid.training.run import Settings

VALID_LINES = 10  # toolkits that insist on validation pairs get these; no measured update is near a validation


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    model: ModelConfig
    corpus: Callable[[Path | None, int | None], corpora.Lines]
    updates: int  # of one measurement
    quick_pairs: int = 3000
    batch_tokens: int = 4096  # source and target, padding included

    def train_config(self, threads: int) -> TrainConfig:
        """As a user would train, but that nothing interrupts the measured updates."""
        never = 10**9
        return TrainConfig(
            threads=threads,
            device="cpu",
            precision="float32",
            batch_tokens=self.batch_tokens,
            optimizer="adamw",
            validate_every=never,
            checkpoint_every=never,
            steps=never,
        )


TINY = Work("tiny", "tiny on Multi30k", preset("tiny", vocabulary=10_000, dropout=0.3), corpora.multi30k, updates=10)
BASE = Work("base", "base on Europarl", preset("base", vocabulary=32_000), corpora.europarl, updates=2)


def lay_out(work: Work, data: Path | None, count: int, threads: int, quick: bool) -> Path:
    """The folder of a work, with the first `count` batches."""
    source, target = work.corpus(data, work.quick_pairs if quick else None)
    digest = hashlib.sha256("\n".join([*source, *target]).encode()).hexdigest()[:12]
    folder = CACHE / "training" / f"{work.name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "source", source)
    _write(folder / "target", target)
    prepared = prepared_data(folder, work, threads)
    _write_pieces(folder, prepared)
    made = first_batches(prepared, work, count)
    tokens = sum(batch.source_tokens + batch.target_tokens for batch in made) / count
    shape = {**work.model.to_dict(), "update_tokens": tokens, "label_smoothing": 0.1, "threads": threads}
    (folder / "work.json").write_text(json.dumps(shape, indent=2) + "\n", encoding="utf-8")
    arrays: dict[str, Any] = {}
    for number, batch in enumerate(made):
        arrays |= {f"{name}_{number}": getattr(batch, name) for name in ("source", "target_in", "target_out")}
        arrays |= {f"{name}_{number}": getattr(batch, name) for name in ("source_real", "target_real")}
    np.savez(folder / "batches.npz", **arrays)
    return folder


def prepared_data(folder: Path, work: Work, threads: int) -> Data:
    """The pairs of the folder as Pellucid's own training prepares them."""
    config = DataConfig(source=str(folder / "source"), target=str(folder / "target"))
    return prepare_data(Settings(config, FilterConfig(), work.model, work.train_config(threads)))


def first_batches(data: Data, work: Work, count: int) -> list[Batch]:
    """What Pellucid's training loop takes first, epoch after epoch."""
    seed = work.train_config(1).seed
    made: list[Batch] = []
    epoch = 0
    while len(made) < count:
        plan = batches(data.corpus, work.batch_tokens, seed, epoch, data.epoch_pairs(seed, epoch))
        made += [Batch.of(data.corpus, pairs) for pairs in plan[: count - len(made)]]
        epoch += 1
    return made


def flop_a_token(model: ModelConfig, made: Iterable[Batch]) -> float:
    """Floating-point operations that training spends on a real token, from the shapes, over these batches.

    Matrix products only: each weight that a token passes takes a multiply and an add, and the backward pass twice
    that. Attention: a score and a value's share for every key that a query may see, padding and future left out.
    """
    about = describe(model)
    multiply_adds = tokens = 0
    for batch in made:
        source, target = batch.source_real.sum(axis=1), batch.target_real.sum(axis=1)
        keys = model.encoder_layers * (source**2).sum()
        keys += model.decoder_layers * (target * (target + 1) // 2 + target * source).sum()
        multiply_adds += int(source.sum()) * about.multiply_adds("source")
        multiply_adds += int(target.sum()) * about.multiply_adds("target") + int(keys) * about.multiply_adds_per_key
        tokens += batch.source_tokens + batch.target_tokens
    return 6 * multiply_adds / tokens


def _write(path: Path, lines: Iterable[str]) -> None:
    """Only what changed: the stores of prepared pairs are known by the time of change of their files."""
    text = "".join(f"{line}\n" for line in lines)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _write_pieces(folder: Path, data: Data) -> None:
    """The pairs as tokens. Toolkits add their own special tokens, so ours are left out."""
    tokenizer = data.tokenizers.source
    pieces = tokenizer.pieces(range(len(tokenizer)))
    sides = {"source": data.corpus.source_ids, "target": data.corpus.target_ids}
    for side, ids_of in sides.items():
        rows = [" ".join(pieces[number] for number in ids_of(int(pair))[:-1]) for pair in data.train_pairs]
        _write(folder / f"pieces.{side}", rows)
        _write(folder / f"pieces.valid.{side}", rows[:VALID_LINES])
    _write(folder / "pieces.vocabulary", pieces[END + 1 :])
