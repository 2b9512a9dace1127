"""What must hold of a model that really learned something: engines agree, batches change nothing, and it translates."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from pellucid.config import DecodeConfig
from pellucid.config.decode import EngineChoice
from pellucid.decode.hypotheses import Sentence
from pellucid.decode.search import search
from pellucid.decode.translator import Translator, load
from pellucid.reference import Transformer

Numbers = Callable[[str, int, int, int], list[str]]


def hard_texts(numbers: Numbers, count: int, seed: int) -> list[str]:
    """What the model knows, and what it does not: longer rows, words cut and turned, other words."""
    rng = random.Random(seed)
    texts = numbers("en", count, 9, seed)
    for place in range(0, count, 2):
        words = texts[place].split()
        words[rng.randrange(len(words))] = rng.choice(
            ["zero", "elev", "7", "Haus", "x" * rng.randint(1, 9), "owt", "six,"]
        )
        texts[place] = " ".join(words)
    return texts


@dataclass(frozen=True)
class Uncached:
    """The oracle of the cache: it keeps ids only, and the whole prefix is computed again at every step."""

    model: Transformer
    source: np.ndarray  # (rows, source)
    tokens: np.ndarray  # (rows, beam, length)

    def select(self, sentences: np.ndarray, beams: np.ndarray) -> Uncached:
        return Uncached(self.model, self.source[sentences], self.tokens[sentences[:, None], beams])


def whole_prefix(tokens: np.ndarray, cache: Uncached) -> tuple[np.ndarray, Uncached]:
    so_far = np.concatenate([cache.tokens, tokens[..., None]], axis=-1)
    rows, beam, length = so_far.shape
    source = np.repeat(cache.source, beam, axis=0)  # (rows * beam, source)
    logits = cache.model.forward(source, np.ones(source.shape, bool), so_far.reshape(rows * beam, length))
    return logits[:, -1].reshape(rows, beam, -1), Uncached(cache.model, cache.source, so_far)


def slow_translations(translator: Translator, texts: list[str], config: DecodeConfig) -> list[str]:
    model = Transformer.load(translator.directory)
    german = set(translator.directory.restriction.ids["de"].tolist())
    others = [token for token in range(len(translator.tokenizers.target)) if token not in german]
    assert others

    def in_german(tokens: np.ndarray, cache: Uncached) -> tuple[np.ndarray, Uncached]:
        logits, cache = whole_prefix(tokens, cache)
        logits[..., others] = -np.inf
        return logits, cache

    found = []
    for text in texts:
        ids = np.array([translator.tokenizers.encode_source(text, "de")])
        cache = Uncached(model, ids, np.zeros((1, 1, 0), dtype=np.int64))
        [[best, *_]] = search(in_german, cache, [Sentence(tuple(ids[0].tolist()))], config)
        found.append(translator.tokenizers.target.decode(best.tokens))
    return found


def engines_agree(model: Path, texts: list[str], config: DecodeConfig) -> None:
    expected = slow_translations(load(model, "reference"), texts, config)
    for translator in (load(model, "torch"), load(model, "ctranslate2", compute_type="float32")):
        found = translator.translate_all(translator.source_texts(texts, "en", "de"), config, split=False)
        assert [translation.text for translation in found] == expected


def batches_change_nothing(model: Path, texts: list[str], engine: EngineChoice, config: DecodeConfig) -> None:
    translator = load(model, engine)
    sources = translator.source_texts(texts, "en", "de")
    alone = [translator.translate_all([source], config)[0] for source in sources]
    for size in (7, 64):
        for order in (range(len(texts)), range(len(texts) - 1, -1, -1)):
            places = list(order)
            for start in range(0, len(places), size):
                batch = places[start : start + size]
                found = translator.translate_all([sources[place] for place in batch], config)
                assert [translation.text for translation in found] == [alone[place].text for place in batch]


def test_it_translates(number_model: Path, numbers: Numbers) -> None:
    translator = load(number_model)
    english, german = (numbers(language, 100, 4, 7) for language in ("en", "de"))
    found = translator.translate_all(translator.source_texts(english, "en"))
    assert sum(translation.text == wanted for translation, wanted in zip(found, german, strict=True)) >= 80
    assert translator.direction("sieben acht") == ("de", "en")
    assert translator.translate_all(translator.source_texts(["sieben acht"]))[0].source == "de"


@pytest.mark.parametrize("config", [DecodeConfig(), DecodeConfig(strategy="greedy")], ids=["beam", "greedy"])
def test_the_slow_oracle_torch_and_ctranslate2_agree(
    number_model: Path, numbers: Numbers, config: DecodeConfig
) -> None:
    engines_agree(number_model, hard_texts(numbers, 30, seed=3), config)


@pytest.mark.proof
def test_they_agree_on_five_hundred(number_model: Path, numbers: Numbers) -> None:
    engines_agree(number_model, hard_texts(numbers, 500, seed=4), DecodeConfig())


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_batches_change_no_translation(number_model: Path, numbers: Numbers, engine: EngineChoice) -> None:
    batches_change_nothing(number_model, hard_texts(numbers, 70, seed=5), engine, DecodeConfig(beam=2))


@pytest.mark.proof
@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_batches_change_none_of_a_thousand(number_model: Path, numbers: Numbers, engine: EngineChoice) -> None:
    batches_change_nothing(number_model, hard_texts(numbers, 1000, seed=6), engine, DecodeConfig())
