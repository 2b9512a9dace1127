"""What a run learns from: files or a generated corpus, read, tokenised, stored, and split."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.config import ModelConfig, TrainConfig
from pellucid.errors import Problem, UserError, counted, nearest
from pellucid.fields import Config, setting
from pellucid.text.batch import batches
from pellucid.text.cache import cache_directory, fingerprint
from pellucid.text.corpus import Corpus, is_whole
from pellucid.text.generated import CORPORA, Part
from pellucid.text.pair import Direction
from pellucid.text.readers import EVERYTHING, Aligned, Pair, Pairs, Report, Rules
from pellucid.text.tokenizer import Tokenizer, Tokenizers, well_formed

HELD_OUT = 0.01  # share of the pairs, when no validation set is given
GENERATED_PAIRS: dict[Part, int] = {"train": 50_000, "valid": 1_000, "test": 1_000}
GENERATED_SEED = 1
FORM = 2  # raised when generators, tokenizers or names of files are made otherwise: what was stored before is not used
PREFIXES = {"train": "", "valid": "valid_", "earlier": "earlier_"}  # of the fields that name files


class DataConfig(Config):
    """Where the pairs come from: two aligned files, files of pairs, or a corpus that the project generates."""

    source: str | list[str] | None = setting(default=None, doc="files of source texts, one a line")
    target: str | list[str] | None = setting(default=None, doc="files of their translations, line by line")
    pairs: str | list[str] | None = setting(default=None, doc="files of pairs: .tsv, .jsonl, .tmx")
    corpus: str | None = setting(default=None, doc="a generated corpus: dates or reports")
    valid_source: str | list[str] | None = setting(
        default=None, doc="source texts to validate on; default: 1% is held out"
    )
    valid_target: str | list[str] | None = setting(default=None, doc="their translations")
    valid_pairs: str | list[str] | None = setting(default=None, doc="files of pairs to validate on")
    earlier_source: str | list[str] | None = setting(
        default=None, doc="files of an earlier training, mixed in against forgetting when a model is fine-tuned"
    )
    earlier_target: str | list[str] | None = setting(default=None, doc="their translations")
    earlier_pairs: str | list[str] | None = setting(default=None, doc="files of pairs of an earlier training")
    earlier_share: float = setting(default=0.5, doc="share of earlier pairs in an epoch", least=0, most=0.99)
    source_language: str | None = setting(default=None, doc="code of the source language (--from)")
    target_language: str | None = setting(default=None, doc="code of the target language (--to)")
    both_ways: bool = setting(default=False, doc="learn both directions in one model, told apart by a tag")
    joint: bool = setting(default=True, doc="one vocabulary for both sides")
    longest: int = setting(default=256, doc="tokens of a side at most; longer pairs are left out", least=8)

    def conflicts(self) -> list[Problem]:
        problems = []
        given = [name for name in ("source", "pairs", "corpus") if getattr(self, name)]
        if len(given) != 1 and given != ["source", "pairs"]:
            what = f"{' and '.join(given)} given together" if given else "no pairs given"
            problems.append(Problem(what, "data", "give --source and --target, or --pairs, or --corpus"))
        if self.corpus is not None and self.corpus not in CORPORA:
            problems.append(Problem(f"unknown corpus {self.corpus!r}", "corpus", nearest(self.corpus, CORPORA)))
        for prefix in PREFIXES.values():
            sources, targets = listed(getattr(self, f"{prefix}source")), listed(getattr(self, f"{prefix}target"))
            if len(sources) != len(targets):
                what = f"{counted(len(sources), 'file')} of sources, {len(targets)} of targets"
                problems.append(Problem(what, f"{prefix}source", "give them in pairs, in the same order"))
        if (self.source_language is None) != (self.target_language is None):
            problems.append(Problem("one language without the other", "source_language", "give both --from and --to"))
        if self.both_ways and self.corpus is not None:
            problems.append(Problem("a generated corpus has its own directions", "both_ways", "leave it out"))
        elif self.both_ways and self.source_language is None:
            problems.append(Problem("needs the languages of both sides", "both_ways", "add --from and --to"))
        if self.languages and self.languages[0] == self.languages[1]:
            problems.append(Problem("the same language on both sides", "target_language", "give two codes"))
        if self.both_ways and not self.joint:
            problems.append(Problem("needs one joint vocabulary", "both_ways", "leave joint as it is"))
        for name in (name for names in self._files().values() for name in names):
            if well_formed(name) != name:
                remedy = "rename it: the config of a run, which is UTF-8, must name it"
                problems.append(Problem("the name is not UTF-8", well_formed(name), remedy))
        return problems

    def _files(self) -> dict[str, list[str]]:
        """The files of every field that names some."""
        names = [prefix + kind for prefix in PREFIXES.values() for kind in ("source", "target", "pairs")]
        return {name: files for name in names if (files := listed(getattr(self, name)))}

    def absolute(self) -> DataConfig:
        """The same with full paths, so that a run can be resumed from anywhere."""
        return self.changed(
            **{name: [str(Path(path).resolve()) for path in files] for name, files in self._files().items()}
        )

    @property
    def languages(self) -> tuple[str, str] | None:
        """The languages that were asked for, source and target."""
        if self.source_language is None or self.target_language is None:
            return None
        return self.source_language, self.target_language

    @property
    def directions(self) -> list[Direction]:
        """What the model is asked to translate; one direction needs no languages."""
        if self.corpus == "reports":
            return [("report", "summary"), ("summary", "report")]
        if self.languages is None:
            return []
        return [self.languages, self.languages[::-1]] if self.both_ways else [self.languages]


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
    data: DataConfig, rules: Rules, model: ModelConfig, train: TrainConfig, tokenizers: Tokenizers | None = None
) -> Data:
    """Read, tokenise and store the pairs, or find the store of an earlier run.

    `tokenizers` are those of a model to go on from; without them they are learned from the pairs.
    """
    data = data.absolute()  # a store knows its files by the names it was made with, and may be found by another name
    pairs = _pairs(data, rules, "train", "earlier")
    if tokenizers is None:
        tokenizers = _learned(pairs, data, model, train.seed)
    corpus = _stored(pairs, data, tokenizers)
    earlier_files = {*listed(data.earlier_source), *listed(data.earlier_pairs)}
    earlier = corpus.pairs_from(earlier_files)
    new = corpus.others(earlier)
    if not len(new):
        raise UserError("every pair is one of the earlier training", "data", "give new pairs to learn from")
    count = min(len(earlier), round(len(new) * data.earlier_share / (1 - data.earlier_share)))
    if data.corpus or data.valid_source or data.valid_pairs:
        valid_corpus = _stored(_pairs(data, EVERYTHING, "valid"), data, tokenizers)
        return Data(corpus, new, valid_corpus, np.arange(len(valid_corpus), dtype=np.uint32), earlier, count)
    if len(new) < 2:
        raise UserError("too few pairs to hold one out", "data", "give validation files, or more pairs")
    train_pairs, held_out = corpus.split(HELD_OUT, train.seed, new)
    return Data(corpus, train_pairs, corpus, held_out, earlier, count)


class Generated:
    """The pairs of a generated corpus, read like those of files."""

    paths: tuple[Path, ...] = ()

    def __init__(self, corpus: str, part: Part) -> None:
        self.corpus, self.part = corpus, part

    def __iter__(self) -> Iterator[Pair]:
        return iter(CORPORA[self.corpus](GENERATED_PAIRS[self.part], GENERATED_SEED, self.part))

    def read(self, report: Report) -> Iterator[Pair]:
        for pair in self:
            report.count(pair, None)
            yield pair


def _pairs(data: DataConfig, rules: Rules, *parts: str) -> Pairs | Generated:
    """The pairs of the files that are named for these parts."""
    if data.corpus is not None:
        return Generated(data.corpus, "valid" if parts == ("valid",) else "train")
    inputs: list[Path | Aligned] = []
    for prefix in (PREFIXES[part] for part in parts):
        sources, targets = listed(getattr(data, f"{prefix}source")), listed(getattr(data, f"{prefix}target"))
        inputs += [Aligned(Path(source), Path(target)) for source, target in zip(sources, targets, strict=True)]
        inputs += [Path(path) for path in listed(getattr(data, f"{prefix}pairs"))]
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
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=directory.parent) as draft:  # it appears whole or not at all
            tokenizers.save(draft)
            with suppress(OSError):  # another process was faster, with the same result
                Path(draft).rename(directory)
                Path(draft).mkdir()
    except OSError as error:
        remedy = "free some space there, or name another place in PELLUCID_CACHE"
        raise UserError(f"the tokenizers cannot be written: {error.strerror}", str(directory), remedy) from error
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


def listed(value: str | list[str] | None) -> list[str]:
    """One file or several, as a list."""
    return [value] if isinstance(value, str) else list(value or [])
