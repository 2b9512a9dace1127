"""The heads that are chosen align words whose translations are known by construction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from pellucid.evaluation.alignment import KnownPair, Weights, accuracy, choose, known_pairs, weigh
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.alignment_heads import AlignmentHeads

Numbers = Callable[[str, int, int, int], list[str]]


def test_known_links() -> None:
    pairs = [("Anna has 3 dogs.", "Drei? Anna hat 3."), ("a b", "c d")]
    assert known_pairs(pairs) == [KnownPair(*pairs[0], ((0, 2), (2, 4)))]
    learned = known_pairs([(f"the {n} dog", f"{m} Hund") for n, m in zip("abcde", "vwxyz", strict=True)] * 3)
    assert all(
        (pair.source.split()[i], pair.target.split()[j]) == ("dog", "Hund") for pair in learned for i, j in pair.links
    )
    assert known_pairs([("Anna and anna", "Anna")]) == []  # which of the two?


def test_the_heads_of_a_trained_model_follow_the_words(number_model: Path, numbers: Numbers) -> None:
    sides = [numbers(language, 80, 6, 5) for language in ("en", "de")]
    pairs = [
        KnownPair(en, de, tuple((place, place) for place, word in enumerate(en.split()) if en.split().count(word) == 1))
        for en, de in zip(*sides, strict=True)
    ]
    directory = ModelDirectory(number_model)
    weights = weigh(directory, pairs, ("en", "de"))
    chosen, found = choose(directory, weights[::2])
    every = [accuracy(weights[::2], AlignmentHeads(0, (head,))) for head in range(4)]
    assert found >= max(every)
    assert accuracy(weights[1::2], chosen) > 0.9
    assert min(every) < found or max(every) == 1


def test_accuracy_and_choice_by_hand() -> None:
    right, wrong = np.eye(2), np.eye(2)[::-1]
    weights = [Weights(np.array([[wrong, wrong], [wrong, right]]), ((0, 0), (1, 1)))]
    assert accuracy(weights, AlignmentHeads(1, (1,))) == 1
    assert accuracy(weights, AlignmentHeads(0, (0,))) == 0
