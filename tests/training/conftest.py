"""A small corpus and small settings, so that a run takes a second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pellucid.config import ModelConfig, TrainConfig
from pellucid.training.loop import start_run
from pellucid.training.run import Run, Settings
from pellucid.training.run.display import Display

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"]


@pytest.fixture(scope="session")
def number_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two aligned files: numbers in words, and in Roman figures, the other way round."""
    folder = tmp_path_factory.mktemp("numbers")
    rows = [(a, b, c) for a in range(10) for b in range(10) for c in range(3)]
    source, target = folder / "train.words", folder / "train.roman"
    source.write_text("".join(" ".join(WORDS[i] for i in row) + "\n" for row in rows), encoding="utf-8")
    target.write_text("".join(" ".join(ROMAN[i] for i in reversed(row)) + "\n" for row in rows), encoding="utf-8")
    return source, target


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Corpora are stored in a folder of the test session, not in the person's cache."""
    monkeypatch.setenv("PELLUCID_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


TINY = ModelConfig(d_model=16, heads=2, feed_forward=32, encoder_layers=1, decoder_layers=1, dropout=0.2)
SHORT = TrainConfig(
    steps=24,
    batch_tokens=256,
    warmup=10,
    learning_rate=5e-3,
    threads=1,
    checkpoint_every=5,
    average=3,
    validate_every=8,
    validate_pairs=4,
)


@pytest.fixture
def settings(number_files: tuple[Path, Path]) -> Settings:
    source, target = number_files
    data = {"source": str(source), "target": str(target)}
    return Settings.of({"data": data, "model": TINY.to_dict(), "train": SHORT.to_dict()})


@pytest.fixture
def trained(settings: Settings, tmp_path: Path) -> Run:
    """A finished run of 24 steps."""
    return start_run(Run(tmp_path / "trained"), settings)


def model_bytes(run: Run) -> bytes:
    return (run.model / "model.safetensors").read_bytes()


class StopAt(Display):
    """A display that does something after a given step."""

    def __init__(self, config: TrainConfig, step: int, act: Callable[[], None]) -> None:
        super().__init__(config)
        self.stop_step, self.act = step, act

    def step(self, progress, loss, rate, speed):  # type: ignore[no-untyped-def]
        super().step(progress, loss, rate, speed)
        if progress.step == self.stop_step:
            self.act()
