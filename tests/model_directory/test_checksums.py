"""Checksums of a model directory: as `sha256sum` reads them, and every flipped bit of a file is noticed by its name."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from pellucid import Translation, Translator
from pellucid.decode.engines.ctranslate2.convert import convert, is_made_of
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.checksums import FILE, intact, write_checksums
from pellucid.model_directory.find import SHIPPED
from pellucid.nn import Transformer

SHIPPED_MODEL = SHIPPED / "en-de"


@pytest.fixture
def model(tmp_path: Path, make_model: object) -> Path:
    copy = Path(shutil.copytree(make_model(), tmp_path / "model"))  # type: ignore[operator]
    write_checksums(copy)
    return copy


def read_everything(path: Path) -> None:
    directory = ModelDirectory(path)
    directory.weights()
    assert directory.metadata


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(bytes(content))


def test_every_flipped_bit_is_noticed_by_the_name_of_its_file(model: Path) -> None:
    random = Random(3)
    paths = [path for path in model.iterdir() if path.is_file() and path.name not in (FILE, "README.md")]
    assert {"config.json", "model.safetensors", "tokenizer.json", "languages.json"} <= {path.name for path in paths}
    for path in paths:
        for _ in range(25):
            bit = random.randrange(8 * path.stat().st_size)
            flip(path, bit)
            with pytest.raises(UserError, match=f"{path.name}: is damaged.*copy the model again"):
                read_everything(model)
            flip(path, bit)
    read_everything(model)


def test_a_flipped_bit_of_the_checksums_themselves_is_noticed(model: Path) -> None:
    random = Random(4)
    for _ in range(50):
        bit = random.randrange(8 * (model / FILE).stat().st_size)
        flip(model / FILE, bit)
        with pytest.raises(UserError, match=r"is damaged|cannot be used|is not in|missing"):
            read_everything(model)
        flip(model / FILE, bit)


def test_a_file_that_is_gone_or_came_later_is_named(model: Path) -> None:
    (model / "languages.json").unlink()
    (model / "alignment.json").write_text('{"layer": 0, "heads": [0]}')
    directory = ModelDirectory(model)
    with pytest.raises(UserError, match=r"languages.json: missing"):
        assert directory.languages
    with pytest.raises(UserError, match=r"alignment.json: is not in SHA256SUMS.*delete .*SHA256SUMS"):
        assert directory.alignment
    (model / FILE).unlink()
    assert ModelDirectory(model).alignment.heads == (0,)  # who changes a model has the last word


def test_sha256sum_reads_them() -> None:
    for folder in (SHIPPED_MODEL, *(path.parent for path in SHIPPED_MODEL.rglob("model.bin"))):
        done = subprocess.run(["sha256sum", "--check", "--strict", FILE], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        listed = {line.split("  ")[1] for line in (folder / FILE).read_text().splitlines()}
        files = {path.name for path in folder.iterdir() if path.is_file()}
        assert listed == files - {FILE, "README.md"}


def translated(model: Path) -> str:
    translation = Translator(model).translate("the cat sat on the mat", max_length=8)
    assert isinstance(translation, Translation)
    return translation.text


def test_a_damaged_converted_model_is_made_anew(model: Path, own_cache: Path) -> None:
    directory = ModelDirectory(model)
    shipped = directory.converted()
    convert(directory, shipped, "int8")
    assert is_made_of(shipped, directory.fingerprint())
    before = translated(model)
    for path in (shipped / "model.bin", shipped / "weights.txt", shipped / FILE):
        flip(path, 8 * (path.stat().st_size // 2) + 1)
        assert not intact(shipped)
        assert translated(model) == before
        assert [intact(path) for path in (own_cache / "ctranslate2").iterdir()] == [True]
        flip(path, 8 * (path.stat().st_size // 2) + 1)
    cached = next((own_cache / "ctranslate2").iterdir())
    shutil.rmtree(shipped)
    flip(cached / "model.bin", 8 * 1000)
    assert translated(model) == before
    assert intact(cached)


def test_saving_weights_keeps_the_checksums_right(model: Path) -> None:
    Transformer.load(model).save(model)
    read_everything(model)
