"""The pairs that a run trains on and validates on."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from pellucid.config import ModelConfig, TrainConfig
from pellucid.text.augment import DERIVED, Augmentation
from pellucid.text.batch import batches
from pellucid.text.bpe_dropout import BpeDropout
from pellucid.text.corpus import Corpus
from pellucid.text.epoch import Epoch
from pellucid.text.tokenizer import Tokenizers


@dataclass(frozen=True)
class Data:
    """Stored corpora, and the numbers of the pairs in them that are used."""

    corpus: Corpus
    train_pairs: NDArray[np.uint32]  # of `corpus`
    valid_corpus: Corpus
    valid_pairs: NDArray[np.uint32]  # of `valid_corpus`
    earlier_pairs: NDArray[np.uint32]  # of `corpus`: those of an earlier training
    earlier_count: int = 0  # how many of these are drawn for each epoch
    augmentation: Augmentation | None = None  # changes the training pairs as they are batched

    def epoch_pairs(self, seed: int, epoch: int) -> NDArray[np.uint32]:
        """The pairs of an epoch: all new ones, and a sample of the earlier ones, drawn anew in each epoch."""
        if not self.earlier_count:
            return self.train_pairs
        drawn = np.random.default_rng([seed, epoch, 1]).choice(self.earlier_pairs, self.earlier_count, replace=False)
        return np.concatenate([self.train_pairs, drawn])

    def epoch_batches(self, config: TrainConfig, epoch: int) -> list[NDArray[np.uint32]]:
        """The batches of an epoch, each as the numbers of its pairs."""
        pairs = self.epoch_pairs(config.seed, epoch)
        return batches(self.corpus, config.batch_tokens, config.seed, epoch, pairs)

    def epoch(self, config: TrainConfig, number: int) -> Epoch:
        """The same as batches of ids, changed by augmentation and BPE dropout."""
        dropout = BpeDropout(self.tokenizers, config.bpe_dropout, config.seed) if config.bpe_dropout else None
        return Epoch(self.corpus, self.epoch_batches(config, number), number, self.augmentation, dropout)

    @property
    def report(self) -> str:
        """How many pairs were read, and which were left out and why, validation pairs included."""
        lines = [str((self.corpus.about["report"] or {}).get("text", "")), *_too_long(self.corpus, "left out")]
        for kind in DERIVED:  # in both directions they are the same pairs
            derived = self.corpus.pairs_from({kind})
            if count := np.count_nonzero(derived < self.corpus.stored):
                lines.append(f"{f'added {kind}':<18}{count:>12,}")
        separate = self.valid_corpus is not self.corpus
        count = np.count_nonzero(self.valid_pairs < self.valid_corpus.stored)  # once, even if used in both directions
        lines.append(f"{'to validate on' if separate else 'used to validate':<18}{count:>12,}")
        lines += _too_long(self.valid_corpus, "left out there") if separate else []
        return "\n".join(lines)

    @property
    def digest(self) -> str:
        """Identifies the pairs: a resumed run must have those it began with."""
        return sha256((self.corpus.digest + self.valid_corpus.digest).encode()).hexdigest()

    @property
    def tokenizers(self) -> Tokenizers:
        return self.corpus.tokenizers

    def with_vocabulary(self, config: ModelConfig) -> ModelConfig:
        """The model's config with the vocabulary sizes of the tokenizers."""
        source, target = len(self.tokenizers.source), len(self.tokenizers.target)
        if self.tokenizers.joint:
            return config.changed(vocabulary=source, source_vocabulary=None, target_vocabulary=None)
        tie = "decoder" if config.tie == "all" else config.tie
        return config.changed(vocabulary=None, source_vocabulary=source, target_vocabulary=target, tie=tie)


def _too_long(corpus: Corpus, what: str) -> list[str]:
    pairs, places = corpus.about["too_long"]["pairs"], corpus.about["too_long"]["places"]
    return [f"{what}, with more than {corpus.longest} tokens: {pairs:,} ({', '.join(places)})"] if pairs else []
