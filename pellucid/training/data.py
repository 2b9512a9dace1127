"""What a run learns from: files or a generated corpus, read, tokenised, stored, and split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pellucid.config import Config, ModelConfig, TrainConfig, setting
from pellucid.errors import Problem, UserError, nearest
from pellucid.text.cache import cache_directory, fingerprint
from pellucid.text.corpus import Corpus, is_whole
from pellucid.text.generated import CORPORA, Part
from pellucid.text.languages import LanguageIdentifier
from pellucid.text.readers import Aligned, Pair, Pairs, Report, Rules
from pellucid.text.tokenizer import Tokenizers

HELD_OUT = 0.01  # share of the pairs, when no validation set is given
SAMPLE = 20_000  # pairs from which the languages are learned
GENERATED_PAIRS: dict[Part, int] = {"train": 50_000, "valid": 1_000, "test": 1_000}
GENERATED_SEED = 1


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
        for prefix in ("", "valid_"):
            sources, targets = listed(getattr(self, f"{prefix}source")), listed(getattr(self, f"{prefix}target"))
            if len(sources) != len(targets):
                what = f"{len(sources)} files of sources, {len(targets)} of targets"
                problems.append(Problem(what, f"{prefix}source", "give them in pairs, in the same order"))
        if (self.source_language is None) != (self.target_language is None):
            problems.append(Problem("one language without the other", "source_language", "give both --from and --to"))
        if self.both_ways and self.corpus is None and self.source_language is None:
            problems.append(Problem("needs the languages of both sides", "both_ways", "add --from and --to"))
        if self.both_ways and not self.joint:
            problems.append(Problem("needs one joint vocabulary", "both_ways", "leave joint as it is"))
        return problems

    def absolute(self) -> DataConfig:
        """The same with full paths, so that a run can be resumed from anywhere."""
        kinds = ("source", "target", "pairs")
        given = {name: listed(getattr(self, name)) for kind in kinds for name in (kind, f"valid_{kind}")}
        return self.changed(
            **{name: [str(Path(path).resolve()) for path in paths] for name, paths in given.items() if paths}
        )

    @property
    def languages(self) -> tuple[str, str] | None:
        """The languages that were asked for, source and target."""
        if self.source_language is None or self.target_language is None:
            return None
        return self.source_language, self.target_language

    @property
    def directions(self) -> list[tuple[str, str]]:
        """What the model will translate; one direction needs no languages."""
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

    @property
    def report(self) -> str:
        """What was read, and what was left out and why."""
        about = self.corpus.about
        text = str((about["report"] or {}).get("text", ""))
        over, longest = about["too_long"]["pairs"], f"  over {about['longest']} tokens"
        return text + (f"\n{longest:<18}{over:>12,}" if over else "")

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


def prepare(
    data: DataConfig, rules: Rules, model: ModelConfig, train: TrainConfig, tokenizers: Tokenizers | None = None
) -> Data:
    """Read, tokenise and store the pairs, or find the store of an earlier run.

    `tokenizers` are those of a model to go on from; without them they are learned from the pairs.
    """
    corpus = _stored(_pairs(data, rules, "train"), data, model, train, tokenizers)
    if not (data.corpus or data.valid_source or data.valid_pairs):
        train_pairs, valid_pairs = corpus.split(HELD_OUT, train.seed)
        if not len(train_pairs):
            raise UserError("too few pairs to hold some out", "data", "give validation files, or more pairs")
        return Data(corpus, train_pairs, corpus, valid_pairs)
    as_it_is = Rules(drop_duplicates=False, identical_words=0, max_ratio=0.0)  # of a test set nothing is left out
    valid_corpus = _stored(_pairs(data, as_it_is, "valid"), data, model, train, corpus.tokenizers)
    return Data(corpus, _all(corpus), valid_corpus, _all(valid_corpus))


def _all(corpus: Corpus) -> NDArray[np.uint32]:
    return np.arange(len(corpus), dtype=np.uint32)


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


def _pairs(data: DataConfig, rules: Rules, part: Part) -> Pairs | Generated:
    if data.corpus is not None:
        return Generated(data.corpus, part)
    prefix = "" if part == "train" else "valid_"
    sources, targets = listed(getattr(data, f"{prefix}source")), listed(getattr(data, f"{prefix}target"))
    aligned = [Aligned(Path(source), Path(target)) for source, target in zip(sources, targets, strict=True)]
    named = [Path(path) for path in listed(getattr(data, f"{prefix}pairs"))]
    return Pairs([*aligned, *named], data.languages, rules)


def _stored(
    pairs: Pairs | Generated, data: DataConfig, model: ModelConfig, train: TrainConfig, tokenizers: Tokenizers | None
) -> Corpus:
    """The store of these pairs, made now unless an earlier run made it."""
    settings = {
        "data": data.to_dict(),
        "part": pairs.part if isinstance(pairs, Generated) else pairs.rules.to_dict(),
        "seed": train.seed,
        "vocabulary": [model.vocabulary, model.source_vocabulary, model.target_vocabulary],
        "tokenizers": _digest(tokenizers) if tokenizers else None,
    }
    directory = cache_directory() / "corpora" / fingerprint(pairs.paths, settings)
    if is_whole(directory):
        return Corpus(directory, data.both_ways)
    if tokenizers is None:
        tags = [target for _, target in data.directions] if len(data.directions) > 1 else []
        tokenizers = Tokenizers.learn(pairs, model.vocabulary, tags, data.joint, train.seed)
    report = Report()
    return Corpus.build(pairs.read(report), tokenizers, directory, data.longest, data.both_ways, report)


def _digest(tokenizers: Tokenizers) -> str:
    return sha256((tokenizers.source.to_json() + tokenizers.target.to_json()).encode()).hexdigest()


def learn_languages(data: DataConfig, corpus: Corpus) -> LanguageIdentifier:
    """What `languages.json` holds: the directions of the model and how to tell its languages apart."""
    texts: dict[str, list[str]] = {language: [] for direction in data.directions for language in direction}
    if texts:
        for row in np.linspace(0, corpus.stored - 1, min(SAMPLE, corpus.stored)).astype(int):
            for language, text in zip(corpus.languages(int(row)), corpus.text(int(row)), strict=True):
                if language in texts:
                    texts[language].append(text)
    return LanguageIdentifier.learn(texts, data.directions)


def listed(value: str | list[str] | None) -> list[str]:
    """One file or several, as a list."""
    return [value] if isinstance(value, str) else list(value or [])
