"""A model directory: each file read once, everything that is saved comes back, and an older model survives a fault."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from safetensors.numpy import load_file

from pellucid.config import ModelConfig
from pellucid.decode.engines import EngineName
from pellucid.decode.translator import Translator
from pellucid.errors import UserError
from pellucid.model_directory import Metadata, ModelDirectory
from pellucid.model_directory.vocabulary_restriction import VocabularyRestriction
from pellucid.nn import Transformer
from pellucid.storage import StorageError
from pellucid.text.language_identifier import LanguageIdentifier
from pellucid.text.tokenizer import Tokenizer, Tokenizers

MakeModel = Callable[..., Path]

ENGLISH, GERMAN = ["the cat sat on the mat"] * 20, ["die Katze lag auf der Matte"] * 20
READ = ["SHA256SUMS", "config.json", "languages.json", "limits.json", "target_tokens.json", "tokenizer.json"]
CARD = "# A model\n\nIts card: größer.\n"


@pytest.fixture
def metadata(tokenizer: Tokenizer) -> Metadata:
    tokenizers = Tokenizers(tokenizer, tokenizer)
    languages = LanguageIdentifier.learn({"en": ENGLISH, "de": GERMAN}, [("en", "de"), ("de", "en")])
    mask = np.arange(len(tokenizer)) < 270
    return Metadata(tokenizers, languages, VocabularyRestriction(tokenizers, {"de": mask}), 77)


@pytest.fixture
def config(tokenizer: Tokenizer) -> ModelConfig:
    return ModelConfig(
        vocabulary=len(tokenizer), d_model=16, heads=2, feed_forward=24, encoder_layers=1, decoder_layers=1
    )


@pytest.fixture
def model(config: ModelConfig, metadata: Metadata, tmp_path: Path) -> ModelDirectory:
    """A model that was saved."""
    return ModelDirectory.save(tmp_path / "saved", config, Transformer(config, seed=1).arrays(), metadata, CARD)


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


# --- reading ------------------------------------------------------------------------------------------------------


def count_opened(directory: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Counter[str]]:
    """The names of the files of a directory that are opened from now on: as text, to be read, or as bytes, for a
    checksum. (The weights are opened by their library, which is not seen here.)"""
    opened = {"text": Counter[str](), "bytes": Counter[str]()}
    real = io.open

    def counted(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if isinstance(file, Path) and file.parent == directory:
            opened["bytes" if "b" in mode else "text"][file.name] += 1
        return real(file, mode, *rest, **named)

    monkeypatch.setattr(io, "open", counted)
    return opened


@pytest.mark.parametrize("engine", ["reference", "torch", "ctranslate2"])
def test_translating_reads_each_file_once(
    model: ModelDirectory, engine: EngineName, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = count_opened(model.path, monkeypatch)
    translator = Translator(ModelDirectory(model.path), engine)
    translator.translate("the cat sat on the mat", target="de", max_length=4)
    translator.translate("die Katze", target="en", max_length=4)
    assert opened["text"] == Counter(READ)
    checked = Counter([*READ[1:], "model.safetensors"])
    if engine == "ctranslate2":  # asks for the fingerprint of the model too
        for name in ("config.json", "model.safetensors", "tokenizer.json", "target_tokens.json"):
            assert opened["bytes"].pop(name) > 1
            checked.pop(name)
    assert opened["bytes"] == checked


def test_weights_are_read_once_by_each_engine(model: ModelDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def counted(path: Path) -> Any:
        read.append(path)
        return load_file(path)

    monkeypatch.setattr("safetensors.numpy.load_file", counted)
    translator = Translator(ModelDirectory(model.path), "reference")
    assert not read
    for _ in range(2):
        translator.translate("the cat sat", target="de", max_length=4)
    assert read == [model.path / "model.safetensors"]


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    nowhere = ModelDirectory(tmp_path / "nowhere")
    assert nowhere.name == "nowhere"
    for part in ("config", "tokenizers", "languages"):
        with pytest.raises(UserError, match="nowhere"):
            getattr(nowhere, part)
    with pytest.raises(UserError, match=r"nowhere.*cannot be read: No such file"):
        nowhere.fingerprint()


# --- saving -------------------------------------------------------------------------------------------------------


def test_what_is_saved_is_opened(config: ModelConfig, metadata: Metadata, tmp_path: Path) -> None:
    weights = Transformer(config, seed=3).arrays()
    ModelDirectory.save(tmp_path / "run" / "model", config, weights, metadata, CARD)
    found = ModelDirectory.find(tmp_path / "run")
    assert found.path == tmp_path / "run" / "model"
    assert found.config == config
    assert found.weights().keys() == weights.keys()
    for name, value in found.weights().items():
        np.testing.assert_array_equal(value, weights[name], strict=True)
    assert found.tokenizers.joint
    text = "the </s> cat, größer 😀"
    assert found.tokenizers.encode_source(text, "de") == metadata.tokenizers.encode_source(text, "de")
    assert found.languages == metadata.languages
    assert {name: ids.tolist() for name, ids in found.restriction.ids.items()} == {"de": list(range(270))}
    assert found.length_limit == 77
    assert found.card == CARD
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["model"]


def test_what_is_opened_and_saved_again_has_the_same_bytes(model: ModelDirectory, tmp_path: Path) -> None:
    again = ModelDirectory.save(tmp_path / "again", model.config, model.weights(), model.metadata, model.card)
    assert files(again.path) == files(model.path)


def test_two_tokenizers_are_saved_as_two(tokenizer: Tokenizer, config: ModelConfig, tmp_path: Path) -> None:
    other = Tokenizer.learn(GERMAN, 280)
    tokenizers = Tokenizers(tokenizer, other)
    apart = config.changed(
        vocabulary=None, source_vocabulary=len(tokenizer), target_vocabulary=len(other), tie="decoder"
    )
    metadata = Metadata(tokenizers, LanguageIdentifier(), VocabularyRestriction(tokenizers, {}), 256)
    ModelDirectory.save(tmp_path / "two", apart, Transformer(apart).arrays(), metadata, "")
    found = ModelDirectory(tmp_path / "two").tokenizers
    assert not found.joint
    assert (len(found.source), len(found.target)) == (len(tokenizer), len(other))
    assert found.encode_target("die Matte") == tokenizers.encode_target("die Matte")


@pytest.mark.parametrize("fault", ["weights", "metadata", "fsync", "rename"])
def test_a_save_that_fails_leaves_the_older_model(
    model: ModelDirectory, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, config, metadata = files(model.path), model.config, model.metadata
    arrays = Transformer(config, seed=2).arrays()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    places = {
        "weights": "safetensors.numpy.save",
        "metadata": "pellucid.model_directory.directory.save_length_limit",
        "fsync": "os.fsync",
        "rename": "pathlib.Path.rename",
    }
    with monkeypatch.context() as patch:
        patch.setattr(places[fault], fail)
        with pytest.raises(StorageError, match="saved: cannot be written: No space left"):
            ModelDirectory.save(model.path, config, arrays, metadata, "another card")
    assert files(model.path) == before
    assert [path.name for path in model.path.parent.iterdir() if path.name != "cache"] == ["saved"]
    ModelDirectory.save(model.path, config, arrays, metadata, "another card")
    assert ModelDirectory(model.path).card == "another card"


def test_a_save_takes_the_place_of_the_older_model_whole(model: ModelDirectory) -> None:
    (model.path / "ctranslate2").mkdir()
    (model.path / "ctranslate2" / "model.bin").touch()
    ModelDirectory.save(model.path, model.config, Transformer(model.config, seed=2).arrays(), model.metadata, CARD)
    assert not (model.path / "ctranslate2").exists()  # it was made of other weights


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
def test_the_file_of_weights_is_that_of_safetensors(
    config: ModelConfig, dtype: torch.dtype, tie: str, tmp_path: Path
) -> None:
    model = Transformer(config.changed(tie=tie, norm="batch"), seed=4)
    model.save(tmp_path, dtype)
    tensors = {name: value.detach().to(dtype) for name, value in model.weights().items()}
    assert (tmp_path / "model.safetensors").read_bytes() == safetensors.torch.save(tensors)


# --- what a model is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "target_tokens.json"])
def test_the_fingerprint_changes_with_each_of_its_files(model: ModelDirectory, name: str) -> None:
    before = model.fingerprint()
    assert ModelDirectory(model.path).fingerprint() == before
    path = model.path / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert model.fingerprint() != before  # also of a directory that was opened earlier
    path.write_bytes(content)
    assert model.fingerprint() == before


def test_the_fingerprint_is_that_of_the_model_and_not_of_its_place(model: ModelDirectory, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(model.path, tmp_path / "copy"))
    (copy / "README.md").write_text("Other words.")
    (copy / "ctranslate2").mkdir()
    assert ModelDirectory(copy).fingerprint() == model.fingerprint()
    (copy / "target_tokens.json").unlink()
    assert ModelDirectory(copy).fingerprint() != model.fingerprint()


def test_the_name_is_that_of_the_directory_or_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ModelDirectory(tmp_path / "en-de").name == "en-de"
    assert ModelDirectory(tmp_path / "dates" / "model").name == "dates"
    monkeypatch.chdir(tmp_path)
    assert ModelDirectory(".").name == tmp_path.name


def test_facts(model: ModelDirectory) -> None:
    facts = model.facts()
    assert facts["directory"] == str(model.path)
    assert facts["directions"] == ["en → de", "de → en"]
    assert facts["parameters"] == sum(value.size for value in model.weights().values())
    assert facts["bytes"] == sum(map(len, files(model.path).values()))
    assert facts["config"] == json.loads((model.path / "config.json").read_text(encoding="utf-8"))
    assert facts["converted"] is False
    (model.path / "ctranslate2").mkdir()
    (model.path / "ctranslate2" / "model.bin").write_bytes(b"1234")
    assert model.facts()["converted"] is True
    assert model.facts()["bytes"] == facts["bytes"] + 4


def test_without_what_is_optional(make_model: MakeModel) -> None:
    bare = ModelDirectory(make_model())
    assert {path.name for path in bare.path.iterdir()} == {
        *("config.json", "languages.json", "model.safetensors", "tokenizer.json")
    }
    assert (bare.card, bare.length_limit, dict(bare.restriction.ids)) == ("", 256, {})
    assert bare.max_positions == sys.maxsize
    assert ModelDirectory(make_model(positions="learned", max_length=40)).max_positions == 40
    assert bare.converted() == bare.path / "ctranslate2"
    assert bare.converted("de") == bare.path / "ctranslate2" / "de"
