"""From settings to `Data`: pairs are read and filtered, tokenizers learned, corpora stored in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.config import KEEP_ALL, DataConfig, FilterConfig, ModelConfig, file_list
from pellucid.config.data import PREFIXES
from pellucid.errors import UserError
from pellucid.storage import cache_directory, fingerprint, new_directory
from pellucid.text.augment import DERIVED, Augmentation, derived_pairs
from pellucid.text.corpus import Corpus
from pellucid.text.corpus.writer import is_whole
from pellucid.text.generated import CORPORA, Split
from pellucid.text.pair import Pair
from pellucid.text.readers import Aligned, Pairs, Report
from pellucid.text.tokenizer import Tokenizer, Tokenizers
from pellucid.training.data.data import Data
from pellucid.training.run.settings import Settings

HELD_OUT = 0.01  # share of the pairs, when no validation set is given
GENERATED_PAIRS: dict[Split, int] = {"train": 50_000, "valid": 1_000, "test": 1_000}
GENERATED_SEED = 1
CACHE_VERSION = 2  # raised when the same settings would give other pairs or tokenizers: then the cache is not used


def prepare_data(settings: Settings, tokenizers_from: Path | None = None) -> Data:
    """Read, tokenise and store the pairs, or find the corpus that an earlier run stored.

    The tokenizers are those in the directory `tokenizers_from`, else those of the model to start from; without either
    they are learned from the pairs.
    """
    data = settings.data.absolute()  # a stored corpus knows its files by their absolute paths
    pairs = _pairs(data, settings.rules, "train", "earlier")
    if directory := tokenizers_from or settings.start_from:
        tokenizers = Tokenizers.load(directory)
    else:
        tokenizers = _learn_tokenizers(pairs, data, settings.model, settings.train.seed)
    corpus = _stored_corpus(pairs, data, tokenizers, settings.train.seed)
    earlier = corpus.pairs_from({*file_list(data.earlier_source), *file_list(data.earlier_pairs)})
    new = corpus.others(earlier)
    if not len(new):
        raise UserError("every pair is one of the earlier training", "data", "give new pairs to learn from")
    kinds = data.augmentations
    augmentation = Augmentation(corpus, kinds, settings.train.seed) if kinds and corpus.in_languages else None
    count = min(len(earlier), round(len(new) * data.earlier_share / (1 - data.earlier_share)))
    if data.corpus or data.valid_source or data.valid_pairs:
        valid_corpus = _stored_corpus(_pairs(data, KEEP_ALL, "valid"), data, tokenizers)
        valid_pairs = np.arange(len(valid_corpus), dtype=np.uint32)
        return Data(corpus, new, valid_corpus, valid_pairs, earlier, count, augmentation)
    if len(new) < 2:
        raise UserError("too few pairs to hold one out", "data", "give validation files, or more pairs")
    derived = corpus.pairs_from(DERIVED)
    train_pairs, held_out = corpus.split(HELD_OUT, settings.train.seed, corpus.others(derived, new))
    return Data(corpus, np.concatenate([train_pairs, derived]), corpus, held_out, earlier, count, augmentation)


class GeneratedPairs:
    """The pairs of a generated corpus, with the interface of `Pairs`."""

    paths: tuple[Path, ...] = ()

    def __init__(self, corpus: str, split: Split) -> None:
        self.corpus, self.split = corpus, split

    def __iter__(self) -> Iterator[Pair]:
        return iter(CORPORA[self.corpus](GENERATED_PAIRS[self.split], GENERATED_SEED, self.split))

    def read(self, report: Report) -> Iterator[Pair]:
        for pair in self:
            report.count(pair, None)
            yield pair


def _pairs(data: DataConfig, rules: FilterConfig, *kinds: str) -> Pairs | GeneratedPairs:
    """The pairs of the files of these kinds: train, valid, earlier."""
    if data.corpus is not None:
        return GeneratedPairs(data.corpus, "valid" if kinds == ("valid",) else "train")
    inputs: list[Path | Aligned] = []
    for prefix in (PREFIXES[kind] for kind in kinds):
        sources, targets = file_list(getattr(data, f"{prefix}source")), file_list(getattr(data, f"{prefix}target"))
        inputs += [Aligned(Path(source), Path(target)) for source, target in zip(sources, targets, strict=True)]
        inputs += [Path(path) for path in file_list(getattr(data, f"{prefix}pairs"))]
    return Pairs(inputs, data.languages, rules)


def _learn_tokenizers(pairs: Pairs | GeneratedPairs, data: DataConfig, model: ModelConfig, seed: int) -> Tokenizers:
    """Learn tokenizers from these pairs, or find those that an earlier run learned."""
    sides = (model.source_vocabulary, model.target_vocabulary)
    key = _cache_key(pairs, data) | {"sizes": [model.vocabulary, *sides], "joint": data.joint, "seed": seed}
    directory = cache_directory() / "tokenizers" / fingerprint(pairs.paths, key)
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


def _stored_corpus(
    pairs: Pairs | GeneratedPairs, data: DataConfig, tokenizers: Tokenizers, derive: int | None = None
) -> Corpus:
    """Store these pairs as a corpus, or find the one that an earlier run stored; with the pairs that augmentation
    derives from them by the seed `derive`, if given."""
    vocabularies = sha256((tokenizers.source.to_json() + tokenizers.target.to_json()).encode()).hexdigest()
    key = _cache_key(pairs, data) | {"tokenizers": vocabularies, "longest": data.longest}
    kinds = [kind for kind in DERIVED if kind in data.augmentations and derive is not None]
    if kinds:
        key |= {"derived": kinds, "derived_seed": derive}
    directory = cache_directory() / "corpora" / fingerprint(pairs.paths, key)
    if is_whole(directory):
        return Corpus(directory, data.both_ways)
    report = Report()
    every = chain(pairs.read(report), derived_pairs(pairs, kinds, derive or 0))
    return Corpus.build(every, tokenizers, directory, data.longest, data.both_ways, report)


def _cache_key(pairs: Pairs | GeneratedPairs, data: DataConfig) -> dict[str, Any]:
    """The settings that decide which pairs are read. The names are those of existing caches."""
    own: dict[str, Any]
    if isinstance(pairs, GeneratedPairs):
        count = GENERATED_PAIRS[pairs.split]
        own = {"corpus": pairs.corpus, "part": pairs.split, "seed": GENERATED_SEED, "pairs": count}
    else:
        own = {"rules": pairs.rules.to_dict(), "languages": data.languages}
    return own | {"form": CACHE_VERSION, "directions": data.directions}
