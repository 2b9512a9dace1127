"""The score of the quality benchmark is that of the published figure: words as they stand, counted by hand here."""

from __future__ import annotations

import random
from collections import Counter
from math import exp, log

import pytest

from pellucid.evaluation.metrics import bleu


def multi_bleu(translations: list[str], references: list[str]) -> float:
    """BLEU as in the paper of 2002 and in Moses' multi-bleu.perl: clipped counts over the corpus, no smoothing."""
    matched, offered = Counter[int](), Counter[int]()
    for translation, reference in zip(translations, references, strict=True):
        for size in range(1, 5):
            ours, theirs = ngrams(translation, size), ngrams(reference, size)
            matched[size] += (ours & theirs).total()
            offered[size] += ours.total()
    length, wanted = (sum(len(text.split(" ")) for text in texts) for texts in (translations, references))
    precision = sum(log(matched[size] / offered[size]) for size in range(1, 5)) / 4
    return 100 * exp(precision + min(0.0, 1 - wanted / length))


def ngrams(text: str, size: int) -> Counter[tuple[str, ...]]:
    words = text.split(" ")
    return Counter(tuple(words[place : place + size]) for place in range(len(words) - size + 1))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dropped", [0.0, 0.2])  # with none dropped the translations are too long, else too short
def test_bleu_of_tokenised_text_is_that_of_multi_bleu(seed: int, dropped: float) -> None:
    chance = random.Random(seed)
    words = ["ein", "mann", "&apos;s", "t-shirt", ",", ".", "(", "@-@", "3", "1.000", "straße", "vor", "dem", "haus"]
    references = [" ".join(chance.choices(words, k=chance.randint(4, 20))) for _ in range(60)]
    translations = []
    for reference in references:
        kept = [word if chance.random() < 0.8 else chance.choice(words) for word in reference.split(" ")]
        kept = [word for word in kept if chance.random() >= dropped] or kept
        translations.append(" ".join([*kept, *(["."] if not dropped else [])]))
    score = bleu(translations, references, tokenize="none")
    assert score.score == pytest.approx(multi_bleu(translations, references), abs=1e-9)
    assert "tok:none" in score.signature
    # sacreBLEU's own tokenizer would take tokens apart a second time, and count other words
    assert bleu(translations, references).score != pytest.approx(score.score, abs=0.01)
