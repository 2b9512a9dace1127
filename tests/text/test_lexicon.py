"""The lexicon: a language made by rule, whose dictionary is known, and Model 1 by hand on two sentences."""

from __future__ import annotations

from random import Random

import pytest

from pellucid.text import lexicon
from pellucid.text.lexicon import Lexicon

DICTIONARY = {
    word: word[::-1] + "o"
    for word in ["house", "tree", "river", "stone", "bread", "apple", "chair", "window", "garden", "letter"]
}


def sentences(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Words in any order, their translations in another: only what occurs together tells which belongs to which."""
    random = Random(seed)
    made = []
    for _ in range(count):
        words = random.sample(sorted(DICTIONARY), random.randint(2, 5))
        translated = [DICTIONARY[word] for word in words]
        random.shuffle(translated)
        made.append((" ".join(words) + ".", " ".join(translated) + "."))
    return made


def test_every_word_of_a_made_up_language_finds_its_translation() -> None:
    assert dict(Lexicon.learn(sentences(400)).words) == DICTIONARY


def test_nothing_is_certain_where_the_pairs_do_not_belong_together() -> None:
    sources, targets = zip(*sentences(400), strict=True)
    shuffled = list(targets)
    Random(3).shuffle(shuffled)
    assert Lexicon.learn(zip(sources, shuffled, strict=True)).words == ()


def test_model_1_by_hand() -> None:
    """Koehn's example (Statistical Machine Translation, section 4.2), here with the empty word."""
    pairs = [(["das", "Haus"], ["the", "house"]), (["das", "Buch"], ["the", "book"]), (["ein", "Buch"], ["a", "book"])]
    table = {("das", t): 1.0 for t in ("the", "house", "book")}
    table |= {("Haus", t): 1.0 for t in ("the", "house")} | {("Buch", t): 1.0 for t in ("the", "book", "a")}
    table |= {("ein", t): 1.0 for t in ("a", "book")} | {("", t): 1.0 for t in ("the", "house", "book", "a")}
    for _ in range(lexicon.ITERATIONS):  # expectation maximisation, word by word
        counts = dict.fromkeys(table, 0.0)
        for source, target in pairs:
            for t in target:
                total = sum(table[s, t] for s in ["", *source])
                for s in ["", *source]:
                    counts[s, t] += table[s, t] / total
        totals = {s: sum(count for (other, _), count in counts.items() if other == s) for s, _ in table}
        table = {(s, t): count / totals[s] for (s, t), count in counts.items()}
    expected = {pair: p for pair, p in table.items() if pair[0] and p >= 0.1}
    found = lexicon._translation_probabilities(pairs)
    assert found == pytest.approx(expected, abs=1e-12)
    assert found["das", "the"] > found.get(("das", "house"), 0.0)


def test_phrases_are_runs_of_certain_words_on_both_sides() -> None:
    pairs = [(f"the {a} {b}", f"das {DICTIONARY[a]} {DICTIONARY[b]}") for a in DICTIONARY for b in DICTIONARY if a != b]
    phrases = dict(Lexicon.learn(pairs * 4).phrases)
    assert phrases["house tree"] == "esuoho eerto"
    assert all(len(source.split()) == len(target.split()) for source, target in phrases.items())


def test_a_first_word_is_written_as_within_a_sentence() -> None:
    pairs = [("Bread is good", "Daerbo is good"), ("I like bread", "I like daerbo")] * 10
    words = dict(Lexicon.learn(pairs).words)
    assert "Bread" not in words


def test_no_words_no_lexicon() -> None:
    assert Lexicon.learn([("1 2 3", "1 2 3"), ("", "x")]) == Lexicon((), ())
