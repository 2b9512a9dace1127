"""What a run learns from: files or a generated corpus, read, tokenised, stored, and split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.config import KEEP_ALL, DataConfig, FilterConfig, ModelConfig, TrainConfig, file_list
from pellucid.config.data import PREFIXES
from pellucid.errors import UserError
from pellucid.storage import cache_directory, fingerprint, new_directory
from pellucid.text.batch import batches
from pellucid.text.corpus import Corpus
from pellucid.text.corpus.writer import is_whole
from pellucid.text.generated import CORPORA, Split
from pellucid.text.pair import Pair
from pellucid.text.readers import Aligned, Pairs, Report
from pellucid.text.tokenizer import Tokenizer, Tokenizers

HELD_OUT = 0.01  # share of the pairs, when no validation set is given
GENERATED_PAIRS: dict[Split, int] = {"train": 50_000, "valid": 1_000, "test": 1_000}
GENERATED_SEED = 1
FORM = 2  # raised when generators, tokenizers or names of files are made otherwise: what was stored before is not used


@dataclass(frozen=True)
class Data:
    """Pairs ready to train on, and pairs to validate on."""

    corpus: Corpus
    train_pairs: NDArray[np.uint32]  # which pairs of `corpus`
    valid_corpus: Corpus
    valid_pairs: NDArray[np.uint32]  # which pairs of `valid_corpus`
    earlier_pairs: NDArray[np.uint32]  # pairs of `corpus` that an earlier training knew
    earlier_count: int = 0  # how many of these are drawn for an epoch

    def epoch_pairs(self, seed: int, epoch: int) -> NDArray[np.uint32]:
        """The pairs of an epoch: all that are new, and some of an earlier training, others each time."""
        if not self.earlier_count:
            return self.train_pairs
        drawn = np.random.default_rng([seed, epoch, 1]).choice(self.earlier_pairs, self.earlier_count, replace=False)
        return np.concatenate([self.train_pairs, drawn])

    def plan(self, config: TrainConfig, epoch: int) -> list[NDArray[np.uint32]]:
        """The batches of an epoch, each as the numbers of its pairs."""
        pairs = self.epoch_pairs(config.seed, epoch)
        return batches(self.corpus, config.batch_tokens, config.seed, epoch, pairs)

    @property
    def report(self) -> str:
        """What was read, and what was left out and why, of the validation pairs too."""
        lines = [str((self.corpus.about["report"] or {}).get("text", "")), *_too_long(self.corpus, "left out")]
        apart = self.valid_corpus is not self.corpus
        count = np.count_nonzero(self.valid_pairs < self.valid_corpus.stored)  # each once, though it may go both ways
        lines.append(f"{'to validate on' if apart else 'used to validate':<18}{count:>12,}")
        lines += _too_long(self.valid_corpus, "left out there") if apart else []
        return "\n".join(lines)

    @property
    def digest(self) -> str:
        """Tells whether a run goes on with the pairs it began with."""
        return sha256((self.corpus.digest + self.valid_corpus.digest).encode()).hexdigest()

    @property
    def tokenizers(self) -> Tokenizers:
        return self.corpus.tokenizers

    def model(self, config: ModelConfig) -> ModelConfig:
        """The model's config with the vocabulary that the tokenizers have."""
        if self.tokenizers.joint:
            return config.changed(
                vocabulary=len(self.tokenizers.source), source_vocabulary=None, target_vocabulary=None
            )
        sizes = {"source_vocabulary": len(self.tokenizers.source), "target_vocabulary": len(self.tokenizers.target)}
        return config.changed(vocabulary=None, tie="decoder" if config.tie == "all" else config.tie, **sizes)


def _too_long(corpus: Corpus, words: str) -> list[str]:
    over = corpus.about["too_long"]["pairs"]
    return (
        [f"{words}, with more than {corpus.longest} tokens: {over:,} ({', '.join(corpus.about['too_long']['places'])})"]
        if over
        else []
    )


def prepare(
    data: DataConfig, rules: FilterConfig, model: ModelConfig, train: TrainConfig, tokenizers: Tokenizers | None = None
) -> Data:
    """Read, tokenise and store the pairs, or find the store of an earlier run.

    `tokenizers` are those of a model to go on from; without them they are learned from the pairs.
    """
    data = data.absolute()  # a store knows its files by the names it was made with, and may be found by another name
    pairs = _pairs(data, rules, "train", "earlier")
    if tokenizers is None:
        tokenizers = _learned(pairs, data, model, train.seed)
    corpus = _stored(pairs, data, tokenizers)
    earlier_files = {*file_list(data.earlier_source), *file_list(data.earlier_pairs)}
    earlier = corpus.pairs_from(earlier_files)
    new = corpus.others(earlier)
    if not len(new):
        raise UserError("every pair is one of the earlier training", "data", "give new pairs to learn from")
    count = min(len(earlier), round(len(new) * data.earlier_share / (1 - data.earlier_share)))
    if data.corpus or data.valid_source or data.valid_pairs:
        valid_corpus = _stored(_pairs(data, KEEP_ALL, "valid"), data, tokenizers)
        return Data(corpus, new, valid_corpus, np.arange(len(valid_corpus), dtype=np.uint32), earlier, count)
    if len(new) < 2:
        raise UserError("too few pairs to hold one out", "data", "give validation files, or more pairs")
    train_pairs, held_out = corpus.split(HELD_OUT, train.seed, new)
    return Data(corpus, train_pairs, corpus, held_out, earlier, count)


class Generated:
    """The pairs of a generated corpus, read like those of files."""

    paths: tuple[Path, ...] = ()

    def __init__(self, corpus: str, part: Split) -> None:
        self.corpus, self.part = corpus, part

    def __iter__(self) -> Iterator[Pair]:
        return iter(CORPORA[self.corpus](GENERATED_PAIRS[self.part], GENERATED_SEED, self.part))

    def read(self, report: Report) -> Iterator[Pair]:
        for pair in self:
            report.count(pair, None)
            yield pair


def _pairs(data: DataConfig, rules: FilterConfig, *parts: str) -> Pairs | Generated:
    """The pairs of the files that are named for these parts."""
    if data.corpus is not None:
        return Generated(data.corpus, "valid" if parts == ("valid",) else "train")
    inputs: list[Path | Aligned] = []
    for prefix in (PREFIXES[part] for part in parts):
        sources, targets = file_list(getattr(data, f"{prefix}source")), file_list(getattr(data, f"{prefix}target"))
        inputs += [Aligned(Path(source), Path(target)) for source, target in zip(sources, targets, strict=True)]
        inputs += [Path(path) for path in file_list(getattr(data, f"{prefix}pairs"))]
    return Pairs(inputs, data.languages, rules)


def _learned(pairs: Pairs | Generated, data: DataConfig, model: ModelConfig, seed: int) -> Tokenizers:
    """Tokenizers of these pairs, learned now unless an earlier run learned them."""
    sides = (model.source_vocabulary, model.target_vocabulary)
    settings = _reading(pairs, data) | {"sizes": [model.vocabulary, *sides], "joint": data.joint, "seed": seed}
    directory = cache_directory() / "tokenizers" / fingerprint(pairs.paths, settings)
    if directory.exists():
        return Tokenizers.load(directory)
    tags = [target for _, target in data.directions] if len(data.directions) > 1 else []
    if all(sides):
        tokenizers = Tokenizers(
            Tokenizer.learn((pair.source for pair in pairs), sides[0], tags, seed),
            Tokenizer.learn((pair.target for pair in pairs), sides[1], (), seed),
        )
    else:
        tokenizers = Tokenizers.learn(pairs, model.vocabulary, tags, data.joint, seed)
    with new_directory(directory) as draft:
        tokenizers.save(draft)
    return tokenizers


def _stored(pairs: Pairs | Generated, data: DataConfig, tokenizers: Tokenizers) -> Corpus:
    """The store of these pairs, made now unless an earlier run made it."""
    settings = _reading(pairs, data) | {"tokenizers": _digest(tokenizers), "longest": data.longest}
    directory = cache_directory() / "corpora" / fingerprint(pairs.paths, settings)
    if is_whole(directory):
        return Corpus(directory, data.both_ways)
    report = Report()
    return Corpus.build(pairs.read(report), tokenizers, directory, data.longest, data.both_ways, report)


def _reading(pairs: Pairs | Generated, data: DataConfig) -> dict[str, Any]:
    """What decides which pairs are read."""
    own: dict[str, Any]
    if isinstance(pairs, Generated):
        own = {"corpus": pairs.corpus, "part": pairs.part, "seed": GENERATED_SEED, "pairs": GENERATED_PAIRS[pairs.part]}
    else:
        own = {"rules": pairs.rules.to_dict(), "languages": data.languages}
    return own | {"form": FORM, "directions": data.directions}


def _digest(tokenizers: Tokenizers) -> str:
    return sha256((tokenizers.source.to_json() + tokenizers.target.to_json()).encode()).hexdigest()
