"""The quality and speed of a model on a test set, and the probability it gives to given translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from time import perf_counter
from typing import Any, NamedTuple

from pellucid.config import DecodeConfig
from pellucid.decode.sentences import SourceText
from pellucid.decode.translator import Translator
from pellucid.errors import UserError
from pellucid.evaluation import metrics
from pellucid.evaluation.metrics import Difference, Score

BORDERS = (5, 10, 20, 30, 40, 60)  # words of a source; the last group is open


@dataclass(frozen=True)
class Evaluation:
    """The translations of a test set by one model, and their scores."""

    name: str
    translations: list[str]
    scores: list[Score]
    seconds: float = 0.0
    tokens: int = 0  # of the translations

    def to_dict(self) -> dict[str, object]:
        speed = {"seconds": self.seconds, "tokens_per_second": self.tokens / self.seconds} if self.seconds else {}
        scores = {score.name: {"score": score.score, "signature": score.signature} for score in self.scores}
        return {"model": self.name, "sentences": len(self.translations), "scores": scores, **speed}


class LengthGroup(NamedTuple):
    """chrF of the sources whose number of words lies in a range."""

    words: str  # 6–10
    sentences: int
    chrF: float  # noqa: N815  # as the metric is spelled, and the key in JSON


@dataclass(frozen=True)
class Report:
    """One or several systems on the same test set. They are compared with the first."""

    systems: list[Evaluation]
    differences: dict[str, list[Difference]]
    by_length: list[LengthGroup]  # of the first
    looks_tokenised: bool  # the references, or the translations of the first: their scores are not comparable

    @classmethod
    def of(cls, systems: list[Evaluation], sources: Sequence[str], references: Sequence[str]) -> Report:
        texts = {system.name: system.translations for system in systems}
        first = systems[0].translations
        return cls(
            systems,
            metrics.compare(texts, references) if len(systems) > 1 else {},
            by_length(sources, first, references),
            metrics.looks_tokenised(references) or metrics.looks_tokenised(first),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "models": [system.to_dict() for system in self.systems],
            "differences": {name: [each._asdict() for each in rows] for name, rows in self.differences.items()},
            "chrF_by_words": [group._asdict() for group in self.by_length],
            "looks_tokenised": self.looks_tokenised,
        }


@dataclass(frozen=True)
class ScoredPair:
    """A given translation: its tokens, the end included, and the log-probability of each."""

    tokens: list[str]
    log_probs: list[float]

    @property
    def total(self) -> float:
        return float(sum(self.log_probs))

    @property
    def mean(self) -> float:
        """Per token: the score of beam search with a length penalty of 1."""
        return self.total / len(self.log_probs)


def evaluate(
    name: str,
    translator: Translator,
    sources: Sequence[SourceText],
    references: Sequence[str],
    config: DecodeConfig | None = None,
) -> Evaluation:
    """Translate a test set and compare it with its references. Opening the model is not counted as time."""
    check_lengths(sources, references)
    translator.translate_all(sources[:1], config)
    start = perf_counter()
    translations = translator.translate_all(sources, config)
    seconds = perf_counter() - start
    texts = [translation.text for translation in translations]
    tokens = sum(len(translation.tokens) for translation in translations)
    return Evaluation(name, texts, metrics.all_scores(texts, references), seconds, tokens)


def check_lengths(
    texts: Sequence[object], references: Sequence[str], kind: str = "sources", where: str = "evaluate"
) -> None:
    if len(texts) != len(references):
        what = f"{len(texts)} {kind}, {len(references)} references"
        raise UserError(what, where, "line n of one belongs to line n of the other: give files of equal length")
    if not texts:
        raise UserError("there is nothing to evaluate", where, "give at least one pair")


def by_length(sources: Sequence[str], translations: Sequence[str], references: Sequence[str]) -> list[LengthGroup]:
    """chrF of short and of long sources, for each group that has any."""
    counts = [max(1, len(text.split())) for text in sources]
    groups = []
    for low, high in pairwise((0, *BORDERS, inf)):
        places = [place for place, count in enumerate(counts) if low < count <= high]
        if places:
            chrf = metrics.chrf([translations[place] for place in places], [references[place] for place in places])
            label = f"over {low}" if high == inf else f"{low + 1}–{high}"
            groups.append(LengthGroup(label, len(places), chrf.score))
    return groups


def score_pairs(translator: Translator, sources: Sequence[SourceText], targets: Sequence[str]) -> list[ScoredPair]:
    """The log-probability of given translations, token by token. Each text is taken whole."""
    if len(sources) != len(targets):
        raise UserError(f"{len(sources)} sources, {len(targets)} targets", "score", "give pairs")
    tokenizers = translator.tokenizers
    pairs = [
        (tokenizers.encode_source(source.text, source.direction[1]), tokenizers.encode_target(target))
        for source, target in zip(sources, targets, strict=True)
    ]
    if not pairs:
        return []
    longest = max(max(len(source_ids), len(target_ids)) for source_ids, target_ids in pairs)
    log_probs = translator.engine(DecodeConfig(), longest).score(pairs)
    return [
        ScoredPair([*tokenizers.target.readable(ids[:-1]), "</s>"], [float(p) for p in row])
        for (_, ids), row in zip(pairs, log_probs, strict=True)
    ]
