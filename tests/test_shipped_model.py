"""The model that ships: whole, small, and right in both directions without torch."""

from __future__ import annotations

import pytest

import pellucid
from pellucid.decode.engines.ctranslate2.convert import content_hash, made_of
from pellucid.evaluation.verify import verify
from pellucid.model_directory.find import find_model

MOST_BYTES = 25_000_000


def test_all_forms_together_are_small_and_belong_together() -> None:
    directory = find_model(DEFAULT)
    assert sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) <= MOST_BYTES
    for form in (".", "de", "en"):
        assert (directory / "ctranslate2" / form / "model.bin").is_file()
        assert made_of(directory / "ctranslate2" / form, content_hash(directory))
    assert "CC BY 2.0 FR" in (directory / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("Where is the station?", "de", "Bahnhof"),
        ("Wo ist der Bahnhof?", "en", "station"),
        ("Thank you.", "de", "Dank"),
    ],
)
def test_it_translates_both_ways(text: str, target: str, expected: str) -> None:
    translation = pellucid.load().translate(text, target=target)
    assert isinstance(translation, pellucid.Translation)
    assert expected.lower() in translation.text.lower()


def test_a_sentence_longer_than_it_learned_is_cut_and_does_not_run_away() -> None:
    clauses = ["I like my dog", "she goes to school", "we are tired", "he bought a car", "they play in the garden"]
    text = " and ".join(clauses * 8)
    [translation] = pellucid.load().translate_all([text], target="de")
    assert translation.notes
    assert len(translation.text) < 1.5 * len(text)
    assert translation.text.count("Hund") == 8


def test_what_ships_is_what_its_weights_give() -> None:
    texts = ["Where is the station?", "I have two brothers.", "Ich habe keine Zeit.", "Das weiß ich nicht."]
    assert pellucid.load().translate(texts) == pellucid.load(compute_type="int8").translate(texts)


def test_its_engines_are_right() -> None:
    proof = verify(find_model(DEFAULT), ["Where is the station?", "I have two brothers.", "Ich habe keine Zeit."])
    assert proof.holds
