"""How good translations are: BLEU, chrF and TER with sacrebleu's signatures, ROUGE-L and exact match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pellucid.errors import UserError


class Score(NamedTuple):
    """A score in percent (TER: the lower, the better) and the signature that says how it was computed."""

    name: str
    score: float
    signature: str


def bleu(
    translations: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: str = "13a"
) -> Score:
    from sacrebleu import BLEU

    return _sacrebleu("BLEU", BLEU(lowercase=lowercase, tokenize=tokenize), translations, references)


def chrf(translations: Sequence[str], references: Sequence[str]) -> Score:
    from sacrebleu import CHRF

    return _sacrebleu("chrF", CHRF(), translations, references)


def ter(translations: Sequence[str], references: Sequence[str]) -> Score:
    from sacrebleu import TER

    return _sacrebleu("TER", TER(), translations, references)


def exact_match(translations: Sequence[str], references: Sequence[str]) -> Score:
    """The share of translations that equal their reference."""
    _check(translations, references)
    equal = sum(translation == reference for translation, reference in zip(translations, references, strict=True))
    return Score("exact match", 100 * equal / len(references), "exact")


def rouge_l(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Mean F1 of the longest common subsequence of words, lower-cased."""
    _check(translations, references)
    total = sum(_rouge_l(t.lower().split(), r.lower().split()) for t, r in zip(translations, references, strict=True))
    return Score("ROUGE-L", 100 * total / len(references), "f1|words|lower|mean")


def _rouge_l(translation: list[str], reference: list[str]) -> float:
    """F1 of two texts, by the length of their longest common subsequence."""
    row = [0] * (len(reference) + 1)  # row[j]: of the words so far and the first j of the reference
    for word in translation:
        diagonal = 0
        for place, other in enumerate(reference, 1):
            diagonal, row[place] = row[place], diagonal + 1 if word == other else max(row[place], row[place - 1])
    return 2 * row[-1] / (len(translation) + len(reference)) if translation or reference else 1.0


def _sacrebleu(name: str, metric: Any, translations: Sequence[str], references: Sequence[str]) -> Score:
    _check(translations, references)
    score = metric.corpus_score(list(translations), [list(references)]).score
    return Score(name, float(score), str(metric.get_signature()))


def _check(translations: Sequence[str], references: Sequence[str]) -> None:
    if len(translations) != len(references) or not references:
        what = f"{len(translations)} translations, {len(references)} references"
        raise UserError(what, "metrics", "give one reference for each translation")
