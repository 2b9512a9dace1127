from __future__ import annotations

import math

import pytest

from pellucid.errors import UserError
from pellucid.evaluation import metrics

HERE = ["the cat sat on the mat today", "a dog ran"]


def test_perfect_and_hopeless() -> None:
    for score in metrics.all_scores(HERE, HERE):
        assert score.score == pytest.approx(0.0 if score.name == "TER" else 100.0)
        assert score.signature
    assert metrics.exact_match(["x y z w v", "q"], HERE).score == 0
    assert metrics.bleu(["x y z w v", "q"], HERE).score == 0


def test_bleu_by_hand() -> None:
    # 7 of 8 words are right, 5 of 7 pairs, 4 of 6 triples, 3 of 5 quadruples; both texts have 8 words.
    translation, reference = "the cat sat on the red mat today", "the cat sat on the old mat today"
    by_hand = 100 * math.exp((math.log(7 / 8) + math.log(5 / 7) + math.log(4 / 6 * 3 / 4) + math.log(2 / 5)) / 4)
    assert metrics.bleu([translation], [reference]).score == pytest.approx(by_hand)


def test_bleu_of_texts_too_short_for_four_words_in_a_row_counts_as_far_as_they_go() -> None:
    short = ["KEY red x2", "KEY blue x9"]
    perfect = metrics.bleu(short, short)
    assert perfect.score == pytest.approx(100)
    assert "eff:yes" in perfect.signature
    # 5 of 6 words are right, 3 of 4 pairs, 1 of 2 triples
    half = metrics.bleu(["KEY red x2", "KEY blue x8"], short)
    assert half.score == pytest.approx(100 * (5 / 6 * 3 / 4 * 1 / 2) ** (1 / 3))
    one_is_long = metrics.bleu(short, [*short[:1], "KEY blue x9 and more"])
    assert one_is_long.score == 0
    assert "eff:no" in one_is_long.signature


def test_rouge_by_hand() -> None:
    # The longest common subsequence of 4 and 5 words is 3: F1 = 2 * 3 / 9.
    assert metrics.rouge_l(["a b c d"], ["A x b d y"]).score == pytest.approx(100 * 6 / 9)
    assert metrics.rouge_l([""], [""]).score == 100


def test_exact_match_counts() -> None:
    assert metrics.exact_match(["a", "b", "c", "d"], ["a", "B", "c", "x"]).score == 50


@pytest.mark.parametrize("metric", [metrics.bleu, metrics.chrf, metrics.ter, metrics.rouge_l, metrics.exact_match])
def test_lengths_are_checked_first(metric: object) -> None:
    for translations, references in ((["a"], ["a", "b"]), ([], [])):
        with pytest.raises(UserError, match="one reference for each"):
            metric(translations, references)  # type: ignore[operator]


def test_a_better_system_is_told_from_chance() -> None:
    references = [f"sentence number {n} says that the cat sat on mat {n}" for n in range(60)]
    worse = [text.replace("cat", "dog") if place % 2 else text for place, text in enumerate(references)]
    same = list(worse)
    found = metrics.compare({"worse": worse, "same": same, "right": references}, references, samples=200)
    assert list(found) == ["same", "right"]
    assert all(difference.p_value < 0.05 for difference in found["right"])
    assert all(difference.score > difference.baseline for difference in found["right"])
    assert all(difference.p_value > 0.05 for difference in found["same"])


def test_what_looks_tokenised() -> None:
    assert metrics.looks_tokenised(["It is cold , today .", "Yes .", "No"])
    assert metrics.looks_tokenised(["to@@ day it is", "▁to day"])
    assert not metrics.looks_tokenised(["It is cold, today.", "A price of 3 . 5?", "Well: yes!"])
    assert not metrics.looks_tokenised([])
