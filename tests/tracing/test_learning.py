"""A model watched while it learned, against one with the same weights, torch's cross-entropy and the translator."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from torch.nn import functional

import pellucid
from pellucid.decode.translator import Translator
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.snapshots import Sample, Snapshots
from pellucid.nn import Transformer
from pellucid.tracing.learning import Learning, watch

MakeModel = Callable[..., Path]
SHIPPED_BYTES = 3_000_000


@pytest.fixture(scope="module")
def run(make_model: MakeModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three steps whose weights have nothing to do with each other."""
    folder = tmp_path_factory.mktemp("run")
    snapshots, models = Snapshots(folder / "snapshots"), [ModelDirectory(make_model(seed)) for seed in (1, 2, 3)]
    snapshots.create(models[0].config, models[0].metadata, Sample("the cat sat", "ein Hund lief", "en", "de"))
    for step, model in zip((0, 7, 1200), models, strict=True):
        snapshots.save(step, model.weights(), remedy="")
    return folder


@pytest.fixture(scope="module")
def dates() -> Learning:
    return watch("dates")


def test_a_moment_is_the_trace_of_the_model_with_its_weights(make_model: MakeModel, run: Path, tmp_path: Path) -> None:
    learning = watch(run, "the old tree", "en", "de", target_text="der Baum")
    assert [moment.step for moment in learning.moments] == [0, 7, 1200]
    for seed, moment in zip((1, 2, 3), learning.moments, strict=True):
        directory = tmp_path / str(seed)
        directory.mkdir()
        for path in make_model(seed).iterdir():
            (directory / path.name).write_bytes(path.read_bytes())
        weights = ModelDirectory(make_model(seed)).weights()
        save_file({name: value.astype(np.float16) for name, value in weights.items()}, directory / "model.safetensors")
        expected = pellucid.explain(
            Translator(directory, "reference"), "the old tree", "en", "de", target_text="der Baum"
        )
        assert moment.steps == expected.steps
        assert moment.heads == expected.heads
        assert moment.loss == -expected.scores[-1].score
        assert np.array_equal(moment.alignment, expected.alignment)
        assert set(moment.weights) == {name for name in expected.values if name.endswith(".weights")}
        whole = learning.at(moment.step)
        assert whole.values.keys() == expected.values.keys()
        for name, value in expected.values.items():
            assert np.array_equal(whole.values[name], value), name
        for name, value in moment.weights.items():
            assert np.array_equal(value, expected.values[name]), name


def test_the_loss_is_the_cross_entropy_of_torch(dates: Learning) -> None:
    for moment in dates.moments[::5]:
        trace = dates.at(moment.step)
        model = Transformer.load(dates.watched.snapshots.at(moment.step)).double().eval()
        ids = [torch.tensor([[token.id for token in side]]) for side in (trace.source_tokens, trace.target_in)]
        with torch.no_grad():
            logits = model(ids[0], torch.ones_like(ids[0], dtype=torch.bool), ids[1])
        target = torch.tensor([token.id for token in trace.target_out])
        assert moment.loss == pytest.approx(functional.cross_entropy(logits[0], target).item(), abs=1e-9)
        shares = torch.softmax(logits[0], dim=-1)[torch.arange(len(target)), target]
        assert moment.probabilities == pytest.approx(shares.tolist(), abs=1e-9)


def test_the_translation_is_that_of_the_model(dates: Learning) -> None:
    assert not dates.moments[0].ended
    assert dates.moments[-1].translation == "2083-06-29"
    for moment in dates.moments:
        translator = Translator(dates.watched.snapshots.at(moment.step), "torch")
        most = None if moment.ended else 24
        found = translator.translate(dates.watched.source.text, max_length=most)
        assert isinstance(found, pellucid.Translation)
        assert moment.translation == found.text


def test_without_a_target_it_is_what_the_last_snapshot_says(run: Path) -> None:
    learning = watch(run, "the cat sat", "en", "de")
    own = Translator(learning.watched.snapshots.at(1200), "torch").translate("the cat sat", "en", "de")
    assert isinstance(own, pellucid.Translation)
    assert learning.at(0).translation == own.text
    assert not learning.watched.given


def test_the_sentence_of_the_run(run: Path) -> None:
    learning = watch(run)
    trace = learning.at(7)
    assert (trace.text, trace.translation, trace.source, trace.target) == ("the cat sat", "ein Hund lief", "en", "de")
    assert learning.watched.given
    assert trace.model == f"{run.name}, step 7"


def test_as_plain_data_a_moment_completes_what_all_have_in_common(run: Path) -> None:
    learning = watch(run)
    data = json.loads(learning.to_json())
    assert data["steps"] == [moment["step"] for moment in data["moments"]] == [0, 7, 1200]
    for moment in data["moments"]:
        whole = json.loads(learning.at(moment["step"]).to_json())
        merged = {**data["trace"], **moment}
        for name in ("config", "labels", "source_tokens", "target_in", "target_out", "heads", "alignment"):
            assert merged[name] == whole[name]
        assert [step["chosen"] for step in merged["steps"]] == [step["chosen"] for step in whole["steps"]]
        assert merged["values"] == {name: each for name, each in whole["values"].items() if name.endswith("weights")}


def test_what_is_wrong_is_reported(run: Path, make_model: MakeModel, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: has no snapshots"):
        watch("nowhere")
    with pytest.raises(UserError, match=r"step: no snapshot was kept at step 8 \(known: 0, 7, 1200\)"):
        watch(run).at(8)
    with pytest.raises(UserError, match="nothing to translate"):
        watch(run, "  ")
    bare = Snapshots(tmp_path / "bare" / "snapshots")
    (tmp_path / "bare").mkdir()
    model = ModelDirectory(make_model())
    bare.create(model.config, model.metadata)
    bare.save(3, model.weights(), remedy="")
    with pytest.raises(UserError, match=r"text: the run kept no sentence to look at \(give one\)"):
        watch(bare)


def test_the_run_of_dates_that_ships_is_small_and_learns() -> None:
    snapshots = Snapshots.find("dates")
    files = [path for path in snapshots.path.parent.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= SHIPPED_BYTES
    assert len(snapshots.steps) > 20
    learning = watch("dates", "le 14 juillet 1989", target_text="1989-07-14")
    assert learning.moments[0].loss > 5
    assert learning.moments[-1].loss < 0.1
    assert learning.moments[-1].translation == "1989-07-14"
