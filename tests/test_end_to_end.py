"""Two files -> a trained model -> translations, as a user goes: unseen numbers are read right by every engine."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import pellucid
from pellucid.config import preset
from pellucid.evaluation.metrics import exact_match

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def sentence(number: int) -> str:
    return " ".join(WORDS[int(digit)] for digit in f"{number:03d}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A model that learned to write 900 numbers of three digits, backwards; and the 100 it never saw."""
    folder = tmp_path_factory.mktemp("end-to-end")
    numbers = Random(1).sample(range(1000), 1000)
    train, unseen = numbers[:900], numbers[900:]
    (folder / "train.words").write_text("".join(f"{sentence(number)}\n" for number in train), encoding="utf-8")
    (folder / "train.digits").write_text("".join(f"{number:03d}"[::-1] + "\n" for number in train), encoding="utf-8")
    shape = preset("tiny", d_model=32, heads=2, feed_forward=64, encoder_layers=1, decoder_layers=1)
    settings = pellucid.TrainConfig(
        steps=500, batch_tokens=1024, warmup=50, learning_rate=0.01, threads=1, validate_every=250, validate_pairs=20
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PELLUCID_CACHE", str(folder / "cache"))
        made = pellucid.train(
            (str(folder / "train.words"), str(folder / "train.digits")), folder / "run", model=shape, train=settings
        )
    return made.directory, unseen


@pytest.mark.parametrize("engine", ["ctranslate2", "torch", "reference"])
def test_unseen_numbers_are_read_right(
    run: tuple[Path, list[int]], engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PELLUCID_CACHE", str(tmp_path))
    directory, unseen = run
    translations = pellucid.load(directory, engine).translate([sentence(number) for number in unseen])  # type: ignore[arg-type]
    assert isinstance(translations, list)
    score = exact_match([translation.text for translation in translations], [f"{n:03d}"[::-1] for n in unseen])
    assert score.score >= 90
