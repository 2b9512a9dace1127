"""How good translations are: BLEU, chrF and TER with sacrebleu's signatures, ROUGE-L and exact match."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pellucid.errors import UserError


class Score(NamedTuple):
    """A score in percent (TER: the lower, the better) and its sacreBLEU signature."""

    name: str
    score: float
    signature: str


class Difference(NamedTuple):
    """A system's score, that of the system it is compared with, and how often chance alone makes such a difference."""

    name: str
    score: float
    baseline: float
    p_value: float


def all_scores(translations: Sequence[str], references: Sequence[str]) -> list[Score]:
    """Every metric of this file."""
    return [metric(translations, references) for metric in (bleu, chrf, ter, rouge_l, exact_match)]


def compare(
    systems: Mapping[str, Sequence[str]], references: Sequence[str], samples: int = 1000
) -> dict[str, list[Difference]]:
    """Paired bootstrap of every system against the first: BLEU and chrF of the same random draws of sentences."""
    from sacrebleu import BLEU, CHRF
    from sacrebleu.significance import PairedTest

    for translations in systems.values():
        _check(translations, references)
    names = {"BLEU": "BLEU", "chrF2": "chrF"}  # sacrebleu's, and those of `all_scores`
    metrics = {"BLEU": BLEU(references=[list(references)]), "chrF2": CHRF(references=[list(references)])}
    named: Any = [(name, list(translations)) for name, translations in systems.items()]
    results: dict[str, Any] = PairedTest(named, metrics, references=None, test_type="bs", n_samples=samples)()[1]
    return {
        name: [_difference(ours, results[metric][place], results[metric][0]) for metric, ours in names.items()]
        for place, name in enumerate(systems)
        if place
    }


def _difference(metric: str, result: Any, baseline: Any) -> Difference:
    # For systems of equal score sacrebleu gives its smallest p-value, as no draw exceeds a difference of 0.
    p_value = 1.0 if result.score == baseline.score else float(result.p_value)
    return Difference(metric, float(result.score), float(baseline.score), p_value)


def looks_tokenised(texts: Sequence[str]) -> bool:
    """Whether most texts have spaces before their punctuation or marks of subwords: BLEU would count other words."""
    marked = sum(bool(re.search(r"\S [.,!?;:](?: |$)|@@ |▁|&(?:apos|quot|amp);", text)) for text in texts)
    return len(texts) > 0 and marked > len(texts) / 2


def bleu(
    translations: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: str = "13a"
) -> Score:
    """The usual BLEU counts up to four words in a row. Where no reference has as many, even a perfect translation would
    have 0: there it counts as far as they go, and the signature says so (eff:yes)."""
    from sacrebleu import BLEU

    tokenised = tokenize == "none"  # and meant to be: sacrebleu need not warn of it
    usual, short = (
        BLEU(lowercase=lowercase, force=tokenised, tokenize=tokenize, effective_order=order) for order in (False, True)
    )
    score = _sacrebleu("BLEU", usual, translations, references)
    if score.score or _sacrebleu("BLEU", usual, references, references).score:
        return score
    return _sacrebleu("BLEU", short, translations, references)


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
