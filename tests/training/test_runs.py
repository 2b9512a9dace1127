"""Runs: what they leave behind, one process at a time, and errors that say where."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import pellucid
from pellucid.config import TrainConfig
from pellucid.decode.translator import load
from pellucid.errors import UserError
from pellucid.model_directory.checksums import write_checksums
from pellucid.model_directory.length_limit import load_length_limit, save_length_limit
from pellucid.model_directory.vocabulary_restriction import UNTAGGED, VocabularyRestriction
from pellucid.text.batch import Batch
from pellucid.text.language_identifier import LanguageIdentifier
from pellucid.text.tokenizer import Tokenizers
from pellucid.training import loop
from pellucid.training.data import prepare_data
from pellucid.training.loop import resume_run, start_run, update, updates
from pellucid.training.loss.batch_loss import batch_loss
from pellucid.training.run import Run, Settings
from pellucid.training.run.display import Display
from pellucid.training.state import begin

from .conftest import StopAt, model_bytes


def test_run_directory_is_as_promised(trained: Run) -> None:
    assert {"config.toml", "log.jsonl", "checkpoints", "curves.png", "model"} <= {
        p.name for p in trained.directory.iterdir()
    }
    names = {p.name for p in trained.model.iterdir()}
    files = {"config.json", "tokenizer.json", "model.safetensors", "README.md", "SHA256SUMS"}
    assert names == files | {"languages.json", "target_tokens.json", "limits.json"}
    steps = [entry for entry in trained.history() if "loss" in entry]
    assert [entry["step"] for entry in steps] == list(range(1, 25))
    assert set(steps[0]) == {"step", "loss", "learning_rate", "tokens_per_second", "seconds"}
    validations = [entry for entry in trained.history() if "valid_loss" in entry]
    assert [entry["step"] for entry in validations] == [8, 16, 24, 24]  # the last one is of the final weights
    assert f"{validations[-1]['valid_loss']:.2f}" in (trained.model / "README.md").read_text(encoding="utf-8")
    assert set(validations[0]) == {"step", "valid_loss", "perplexity", "bleu", "chrf", "exact_match"}


def test_equal_runs_give_equal_bytes_and_another_seed_others(trained: Run, settings: Settings, tmp_path: Path) -> None:
    again = start_run(Run(tmp_path / "again"), settings)
    assert model_bytes(again) == model_bytes(trained)
    other = start_run(Run(tmp_path / "other"), replace(settings, train=settings.train.changed(seed=2)))
    assert model_bytes(other) != model_bytes(trained)


@pytest.mark.parametrize("there", ["model/thesis.txt", "log.jsonl", "checkpoints/last.safetensors"])
def test_what_is_there_already_is_never_replaced(settings: Settings, tmp_path: Path, there: str) -> None:
    path = tmp_path / there
    path.parent.mkdir(exist_ok=True)
    path.write_text("precious")
    with pytest.raises(UserError, match=r"which a run would replace .*another --out"):
        start_run(Run(tmp_path), settings)
    assert path.read_text() == "precious"


def test_a_run_that_cannot_be_locked_says_why(settings: Settings, tmp_path: Path) -> None:
    run = start_run(Run(tmp_path), settings)
    (run.directory / ".lock").unlink()
    (run.directory / ".lock").mkdir()  # root may open any file
    with pytest.raises(UserError, match=r"cannot be written: Is a directory"):
        resume_run(run)


def test_a_second_process_refuses(trained: Run) -> None:
    with trained.locked(), pytest.raises(UserError, match="another process"):
        resume_run(trained)


def test_an_existing_run_is_not_overwritten(trained: Run, settings: Settings) -> None:
    with pytest.raises(UserError, match="--resume"):
        start_run(trained, settings)


def test_accumulated_gradients_equal_those_of_the_large_batch(settings: Settings, tmp_path: Path) -> None:
    settings = replace(settings, model=settings.model.changed(dropout=0.0), train=settings.train.changed(clip=0.0))
    data = prepare_data(settings)
    model = data.with_vocabulary(settings.model)
    weights = []
    for accumulate, tokens in ((4, 256), (1, 4096)):
        config = settings.train.changed(accumulate=accumulate, batch_tokens=tokens)
        training = begin(Run(tmp_path / str(tokens)), data, model, config, None)
        training.model.double()
        if accumulate == 4:
            small = next(updates(training))
            pairs = [int(pair) for batch in small for pair in batch.pairs]
            update(training, small)
        else:
            update(training, [Batch.of(data.corpus, pairs)])
        weights.append({name: value.clone() for name, value in training.model.weights().items()})
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name], rtol=0, atol=1e-12)


def test_a_loss_that_is_not_finite_stops_before_the_update_and_names_the_lines(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_loss = batch_loss
    calls = []

    def poisoned(model, batch, *how):  # type: ignore[no-untyped-def]
        calls.append(batch)
        return true_loss(model, batch, *how) * (float("nan") if len(calls) == 8 else 1.0)

    monkeypatch.setattr(loop, "batch_loss", poisoned)
    run = Run(tmp_path / "run")
    with pytest.raises(UserError, match=r"not a finite number at step 8.*") as error:
        start_run(run, settings)
    assert "train.words:" in str(error.value)
    saved = load_file(run.checkpoints / "last.safetensors")
    assert all(bool(torch.isfinite(value).all()) for value in saved.values())
    monkeypatch.setattr(loop, "batch_loss", true_loss)
    resume_run(run)
    assert run.model.exists()


def test_a_config_that_is_damaged_says_so(trained: Run) -> None:
    (trained.directory / "config.toml").write_bytes(b"")
    with pytest.raises(UserError, match=r"config.toml: is damaged"):
        resume_run(trained)


def test_a_device_that_is_not_there_is_told_before_anything_is_made(settings: Settings, tmp_path: Path) -> None:
    absent = "mps" if not torch.backends.mps.is_available() else "cuda"
    away = replace(settings, train=settings.train.changed(device=absent))
    with pytest.raises(UserError, match=f"device: there is no {absent} here.*cpu"):
        start_run(Run(tmp_path / "run"), away)
    assert not (tmp_path / "run").exists()


def test_a_cache_that_cannot_be_written_is_told(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("PELLUCID_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"cannot be written.*PELLUCID_CACHE"):
        start_run(Run(tmp_path / "run"), settings)


def directions(run: Run) -> tuple[tuple[str, str], ...]:
    return LanguageIdentifier.load(run.model / "languages.json").directions


def test_files_that_name_their_languages_name_those_of_the_model(
    number_files: tuple[Path, Path], settings: Settings, tmp_path: Path
) -> None:
    named = [tmp_path / "a.en", tmp_path / "a.la"]
    for path, file in zip(named, number_files, strict=True):
        shutil.copy(file, path)
    data = settings.data.changed(source=str(named[0]), target=str(named[1]))
    run = start_run(Run(tmp_path / "run"), replace(settings, data=data))
    assert directions(run) == (("en", "la"),)
    assert (run.model / "README.md").read_text(encoding="utf-8").startswith("# en → la")
    assert load(run.directory).translate("one", target="la").target == "la"  # type: ignore[union-attr]

    # Fine-tuned on pairs without names it still knows them; on files that go the other way it learns their names.
    start = {"start_from": str(run.model)}
    train = settings.train.to_dict() | {"steps": 2}
    unnamed = Settings.of({"data": settings.data.to_dict() | start, "train": train})
    assert directions(start_run(Run(tmp_path / "tuned"), unnamed)) == (("en", "la"),)
    back = {"source": str(named[1]), "target": str(named[0])}
    assert directions(start_run(Run(tmp_path / "back"), Settings.of({"data": back | start, "train": train}))) == (
        ("la", "en"),
    )


def test_from_python_a_model_without_a_shape_is_tiny_too(number_files: tuple[Path, Path], tmp_path: Path) -> None:
    run = pellucid.train(number_files, tmp_path / "run", train=TrainConfig(steps=1, threads=1))
    assert run.settings().model.d_model == 128


def test_patience_ends_a_run_early(settings: Settings, tmp_path: Path) -> None:
    train = settings.train.changed(
        steps=None, epochs=1000, patience=1, validate_every=1, learning_rate=0.0, validate_pairs=0
    )
    run = start_run(Run(tmp_path / "run"), replace(settings, train=train))
    assert len([entry for entry in run.history() if "loss" in entry]) == 2  # a loss that never falls: second is enough


def test_what_was_read_is_told(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start_run(Run(tmp_path / "run"), settings, Display(settings.train))
    assert "pairs read" in capsys.readouterr().err


def test_config_of_a_run_reads_back(trained: Run, settings: Settings) -> None:
    again = trained.settings()
    assert again.train == settings.train
    assert again.model.d_model == 16
    assert again.model.vocabulary == json.loads((trained.model / "config.json").read_text())["vocabulary"]


def test_a_fine_tuned_run_goes_on_without_the_model_it_started_from(
    trained: Run, settings: Settings, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    shutil.copytree(trained.model, base)
    save_length_limit(base, 777)
    write_checksums(base)
    tuned = Settings.of(
        {"data": settings.data.to_dict() | {"start_from": str(base)}, "train": settings.train.to_dict()}
    )
    whole = start_run(Run(tmp_path / "whole"), tuned)
    run = Run(tmp_path / "tuned")
    start_run(run, tuned, StopAt(tuned.train, 7, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    shutil.rmtree(base)
    resume_run(run)
    assert model_bytes(run) == model_bytes(whole)
    assert said(run) == said(whole)
    assert load_length_limit(run.model) == load_length_limit(whole.model) == 777 > load_length_limit(trained.model)


def said(run: Run) -> set[str]:
    """All that the model of a run may say; empty: everything."""
    tokenizers = Tokenizers.load(run.model)
    ids = VocabularyRestriction.load(run.model, tokenizers).ids
    return set(tokenizers.target.pieces(ids[UNTAGGED])) if ids else set()


def test_a_model_says_the_tokens_of_its_targets(settings: Settings, tmp_path: Path) -> None:
    """Also after it went on with other targets; all tokens if it saw them cut in other ways."""
    rng = random.Random(1)
    sides = [sorted({"".join(rng.choices(letters, k=4)) for _ in range(80)}) for letters in ("abcdefgh", "stuvwxyz")]
    source, target, few = (tmp_path / name for name in ("source", "target", "few"))
    for path, words in ((source, sides[0]), (target, sides[1]), (few, ["stuv"])):
        path.write_text("".join(" ".join(rng.choices(words, k=6)) + "\n" for _ in range(80)), encoding="utf-8")

    def run(name: str, data: dict[str, str], bpe_dropout: float = 0.0) -> Run:
        train = settings.train.changed(bpe_dropout=bpe_dropout, steps=2).to_dict()
        model = {} if "start_from" in data else {"model": settings.model.to_dict() | {"vocabulary": 600}}
        return start_run(Run(tmp_path / name), Settings.of({"data": data, "train": train, **model}))

    first = run("first", {"source": str(source), "target": str(target)})
    sources, targets = ({f"Ġ{word}" for word in words} for words in sides)
    assert len(targets & said(first)) > 40
    assert not sources & said(first)
    second = run("second", {"source": str(source), "target": str(few), "start_from": str(first.model)})
    new = Tokenizers.load(first.model).target
    assert said(second) == said(first) | set(new.pieces(new.encode("stuv")))
    assert not said(run("dropping", {"source": str(source), "target": str(target)}, bpe_dropout=0.1))


def test_learned_positions_end_a_translation_not_the_run(settings: Settings, tmp_path: Path) -> None:
    model = settings.model.changed(positions="learned", max_length=12)
    with pytest.raises(UserError, match="set longest=12"):
        start_run(Run(tmp_path / "long"), replace(settings, model=model))
    data = settings.data.changed(longest=12)
    run = start_run(Run(tmp_path / "run"), replace(settings, model=model, data=data))  # an unready model never ends
    assert run.model.exists()
