"""What every test shares: a cache of its own, properties checked on the same examples however slow the machine, a
browser, and small models: with random weights whose choices are clear and whose sentences end, and one that was
trained."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from safetensors.numpy import save_file

from pellucid.config import ModelConfig, TrainConfig
from pellucid.model_directory.checksums import write_checksums
from pellucid.model_directory.length_limit import DEFAULT, save_length_limit
from pellucid.model_directory.shapes import weight_shapes
from pellucid.text.language_identifier import LanguageIdentifier
from pellucid.text.tokenizer import END, Tokenizer, Tokenizers

settings.register_profile("pellucid", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("pellucid")

ENGLISH = ["the cat sat on the mat", "a dog ran to the house", "we see the old tree by the river", "it is cold today"]
GERMAN = ["die Katze lag auf der Matte", "ein Hund lief zum Haus", "wir sehen den Baum am Fluss", "heute ist es kalt"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PELLUCID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.learn(3 * (ENGLISH + GERMAN), 300, languages=("en", "de"))


MakeModel = Callable[..., Path]


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> MakeModel:
    """A model directory; equal settings give the same directory."""
    made: dict[str, Path] = {}

    def make(seed: int = 0, **values: Any) -> Path:
        key = json.dumps([seed, values], sort_keys=True)
        if key not in made:
            made[key] = tmp_path_factory.mktemp("model")
            _write(made[key], tokenizer, seed, values)
        return made[key]

    return make


def _write(directory: Path, tokenizer: Tokenizer, seed: int, values: dict[str, Any]) -> None:
    shape = {"d_model": 32, "heads": 4, "feed_forward": 48, "encoder_layers": 2, "decoder_layers": 2}
    size = {} if "source_vocabulary" in values else {"vocabulary": len(tokenizer)}
    config = ModelConfig(**{**shape, **size, "output_bias": True, **values})
    rng = np.random.default_rng(seed)
    weights = {name: _weight(name, shape, rng) for name, shape in weight_shapes(config).items()}
    if config.output_bias:
        weights["output.bias"][END] += 5
    save_file(weights, directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(config.to_dict()), encoding="utf-8")
    Tokenizers(tokenizer, tokenizer).save(directory)
    languages = LanguageIdentifier.learn({"en": ENGLISH, "de": GERMAN}, [("en", "de"), ("de", "en")])
    languages.save(directory / "languages.json")


def _weight(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Nothing stays at a value that would hide a mistake; a large embedding makes the choices clear."""
    if name.endswith("running_variance"):
        values = rng.uniform(0.5, 2, size=shape)
    elif "norm" in name and name.endswith("weight"):
        values = 1 + 0.2 * rng.normal(size=shape)
    elif len(shape) == 1:
        values = 0.1 * rng.normal(size=shape)
    else:
        values = rng.normal(size=shape) * shape[-1] ** -0.5 * (2 if "embedding" in name else 1)
    return values.astype(np.float32)


NUMBERS = {
    "en": ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
    "de": ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"],
}


def number_texts(language: str, count: int, longest: int, seed: int) -> list[str]:
    """Numbers in words, one to `longest` in a row; equal seeds give the same numbers in every language."""
    rng = random.Random(seed)
    rows = [[rng.randrange(10) for _ in range(rng.randint(1, longest))] for _ in range(count)]
    return [" ".join(NUMBERS[language][number] for number in row) for row in rows]


@pytest.fixture(scope="session")
def numbers() -> Callable[[str, int, int, int], list[str]]:
    return number_texts


@pytest.fixture(scope="session")
def number_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was trained, some seconds long, to translate numbers between English and German."""
    import pellucid

    folder = tmp_path_factory.mktemp("numbers")
    sides = [number_texts(language, 1500, 6, seed=1) for language in ("en", "de")]
    pairs = folder / "train.tsv"
    pairs.write_text("".join(f"{en}\t{de}\n" for en, de in zip(*sides, strict=True)), encoding="utf-8")
    data = {"pairs": [str(pairs)], "source_language": "en", "target_language": "de", "both_ways": True}
    data["augment"] = "none"  # it has no time to learn from variety
    model = ModelConfig(
        vocabulary=320, d_model=32, heads=4, feed_forward=64, encoder_layers=1, decoder_layers=1, dropout=0.0
    )
    train = TrainConfig(
        steps=200, batch_tokens=1024, warmup=30, learning_rate=1e-2, threads=1, average=1, label_smoothing=0.0
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PELLUCID_CACHE", str(folder / "cache"))
        run = pellucid.train(data, folder / "run", model.changed(norm_place="pre"), train)
    save_length_limit(run.model, DEFAULT)  # it learned from short texts, and tests give it long ones whole
    write_checksums(run.model)
    return run.model


CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


@pytest.fixture(scope="module")  # no longer: while it is there, no other test could run an event loop
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()
