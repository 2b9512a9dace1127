"""Languages are told apart, odds are honest, and the file is small and checked."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pellucid.errors import UserError
from pellucid.text import language_identifier
from pellucid.text.language_identifier import LanguageIdentifier, ngrams

# Two made-up languages: the same letters, other syllables. "tamo" is a word of both.
SYLLABLES = {"aa": ("ka", "lo", "mir", "ten"), "bb": ("ak", "ol", "rim", "net")}
BOTH_WAYS = (("aa", "bb"), ("bb", "aa"))


def made_up(language: str, count: int, seed: int) -> list[str]:
    draw = random.Random(f"{language} {seed}")

    def word() -> str:
        return "tamo" if draw.random() < 0.2 else "".join(draw.choices(SYLLABLES[language], k=draw.randint(1, 3)))

    return [" ".join(word() for _ in range(draw.randint(1, 6))) for _ in range(count)]


@pytest.fixture(scope="module")
def identifier() -> LanguageIdentifier:
    return LanguageIdentifier.learn({name: made_up(name, 500, seed=1) for name in SYLLABLES}, BOTH_WAYS)


def test_ngrams_by_hand() -> None:
    assert list(ngrams("ab")) == ["a", "b", " a", "ab", "b ", " ab", "ab ", " ab "]


def test_weights_by_hand() -> None:
    counts = [language_identifier._ngram_counts(Counter({word: 2})) for word in ("x", "y")]
    weights = language_identifier._weights(counts)
    # Letters: aa has x twice, bb has y twice; two kinds: p(x|aa) = 3/4, p(x|bb) = 1/4. Half the log of 3 each way.
    assert weights["x"] == [round(50 * math.log(3)), -round(50 * math.log(3))]
    assert weights["y"] == weights["x"][::-1]
    # Pairs of characters: " x", "x " twice each; four kinds: p(" x"|aa) = 3/8, p(" x"|bb) = 1/8. The same odds.
    assert weights[" x"] == weights["x"]


def test_unseen_sentences(identifier: LanguageIdentifier) -> None:
    for name in SYLLABLES:
        texts = [text for text in made_up(name, 300, seed=2) if set(text.split()) != {"tamo"}]
        assert all(identifier.detect(text)[0][0] == name for text in texts)
        assert all(identifier.detect(text.upper()) == identifier.detect(text) for text in texts)


def test_probabilities(identifier: LanguageIdentifier) -> None:
    for text in ("kalo", "rimnet", "tamo", "kalo rimnet", "1 kalo, 2!"):
        found = identifier.detect(text)
        assert sum(probability for _, probability in found) == pytest.approx(1)
        assert found[0][1] >= found[1][1]
        assert {name for name, _ in found} == {"aa", "bb"}
    assert dict(identifier.detect("kalomir tenka"))["aa"] > 0.98
    assert identifier.detect("tamo")[0][1] < 0.75  # a word of both
    even = [("aa", 0.5), ("bb", 0.5)]
    for text in ("", "  \n", "2022-05-03", "?!… 🙂", "жук"):
        assert identifier.detect(text) == even


def test_odds_are_honest() -> None:
    """Among ambiguous words, "so sure" means so often right: a word of both is drawn three times as often in aa."""
    draw = random.Random(5)
    texts = {
        name: [("tamo" if draw.random() < share else SYLLABLES[name][0]) for _ in range(4000)]
        for name, share in (("aa", 0.6), ("bb", 0.2))
    }
    name, probability = LanguageIdentifier.learn(texts).detect("tamo")[0]
    assert name == "aa"
    assert probability == pytest.approx(0.75, abs=0.05)


def test_saved_and_loaded(identifier: LanguageIdentifier, tmp_path: Path) -> None:
    path = tmp_path / "languages.json"
    identifier.save(path)
    loaded = LanguageIdentifier.load(path)
    assert loaded == identifier
    assert loaded.languages == ("aa", "bb")
    assert loaded.directions == BOTH_WAYS
    again = LanguageIdentifier.learn({name: made_up(name, 500, seed=1) for name in SYLLABLES}, BOTH_WAYS)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("count", [2, 12])
def test_the_file_stays_small(tmp_path: Path, count: int) -> None:
    """However rich the vocabulary and many the languages."""
    draw = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyzäöüéèß"
    texts = {
        f"l{number}": ["".join(draw.choices(letters, k=7)) for _ in range(10_000 // count)] for number in range(count)
    }
    LanguageIdentifier.learn(texts).save(tmp_path / "languages.json")
    assert (tmp_path / "languages.json").stat().st_size < 150_000


def test_one_language_or_none(tmp_path: Path) -> None:
    for texts, expected in (({}, []), ({"en": ["one"]}, [("en", 1.0)])):
        identifier = LanguageIdentifier.learn(texts)
        identifier.save(tmp_path / "languages.json")
        assert LanguageIdentifier.load(tmp_path / "languages.json") == identifier
        assert identifier.detect("one") == expected


def test_very_few_texts() -> None:
    identifier = LanguageIdentifier.learn({"en": ["the house"], "de": ["das Haus"]})
    assert identifier.detect("the")[0][0] == "en"
    assert identifier.detect("das")[0][0] == "de"


BAD_CHANGES: list[dict[str, Any]] = [
    {"languages": "aa"},
    {"languages": ["aa", "aa"]},
    {"languages": [1, 2]},
    {"directions": [["aa", "cc"]]},
    {"directions": [["aa"]]},
    {"directions": {}},
    {"scale": "big"},
    {"scale": 0},
    {"scale": math.nan},
    {"ngrams": {"a": [1]}},
    {"ngrams": {"a": [1, "2"]}},
    {"ngrams": []},
    {"extra": 1},
]
GOOD: dict[str, Any] = {
    "languages": ["aa", "bb"],
    "directions": [["aa", "bb"]],
    "scale": 0.2,
    "ngrams": {"a": [1, -1]},
}


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", *(json.dumps({**GOOD, **change}) for change in BAD_CHANGES)])
def test_a_bad_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "languages.json"
    path.write_text(json.dumps(GOOD))
    LanguageIdentifier.load(path)
    path.write_text(content)
    with pytest.raises(UserError, match=r"languages\.json"):
        LanguageIdentifier.load(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"languages\.json: cannot be read: No such file"):
        LanguageIdentifier.load(tmp_path / "languages.json")
