"""The model that ships: whole, small, and right in both directions without torch."""

from __future__ import annotations

import pytest

import pellucid
from pellucid.config import DEFAULT_MODEL
from pellucid.decode.engines.ctranslate2.convert import is_made_of
from pellucid.evaluation.verify import verify
from pellucid.model_directory import ModelDirectory

MOST_BYTES = 25_000_000


def test_weights_and_converted_models_are_small_and_belong_together() -> None:
    directory = ModelDirectory.find(DEFAULT_MODEL)
    assert sum(path.stat().st_size for path in directory.path.rglob("*") if path.is_file()) <= MOST_BYTES
    for language in (None, *directory.restriction.ids):
        assert is_made_of(directory.converted(language), directory.fingerprint())
    assert "CC BY 2.0 FR" in (directory.path / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("Where is the station?", "de", "Bahnhof"),
        ("Wo ist der Bahnhof?", "en", "station"),
        ("Thank you.", "de", "Dank"),
        ("Thank you", "de", "Dank"),
        ("It costs 19 euros.", "de", "19 Euro"),
        ("The train leaves at 10:45.", "de", "10:45"),
        ("My name is Kateryna.", "de", "Kateryna"),
        ("Ich liebe 🍕.", "en", "🍕"),
    ],
)
def test_it_translates_both_ways(text: str, target: str, expected: str) -> None:
    translation = pellucid.load().translate(text, target=target)
    assert isinstance(translation, pellucid.Translation)
    assert expected.lower() in translation.text.lower()


def test_a_sentence_longer_than_it_learned_is_cut_and_does_not_run_away() -> None:
    clauses = ["I like my dog", "she goes to school", "we are tired", "he bought a car", "they play in the garden"]
    text = " and ".join(clauses * 10)
    translation = pellucid.load().translate(text, target="de")
    assert isinstance(translation, pellucid.Translation)
    assert translation.notes
    assert len(translation.text) < 1.5 * len(text)
    assert translation.text.count("Hund") == 10


def test_what_ships_is_what_its_weights_give() -> None:
    texts = ["Where is the station?", "I have two brothers.", "Ich habe keine Zeit.", "Das weiß ich nicht."]
    assert pellucid.load().translate(texts) == pellucid.load(compute_type="int8").translate(texts)


def test_its_engines_are_right() -> None:
    verification = verify(
        ModelDirectory.find(DEFAULT_MODEL), ["Where is the station?", "I have two brothers.", "Ich habe keine Zeit."]
    )
    assert verification.holds
