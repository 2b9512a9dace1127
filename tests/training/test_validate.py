"""Validation looks at all directions, and counts every pair of a test set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pellucid import reference
from pellucid.config import ModelConfig
from pellucid.nn import Transformer
from pellucid.text.batch import Batch
from pellucid.training import validate as validate_module
from pellucid.training.data import prepare_data
from pellucid.training.run import Settings
from pellucid.training.validate import valid_loss, validate


def test_the_loss_is_that_of_the_reference(settings: Settings) -> None:
    data = prepare_data(settings)
    model = Transformer(data.with_vocabulary(settings.model)).double().eval()
    pairs = data.valid_pairs[:3]
    batch = Batch.of(data.corpus, pairs)
    oracle = reference.Transformer(
        model.config, {name: value.detach().numpy() for name, value in model.weights().items()}
    )
    logits = oracle.forward(batch.source, batch.source_real, batch.target_in)
    total, count = reference.cross_entropy(logits, batch.target_out, batch.target_real)
    assert valid_loss(model, data.corpus, pairs, 256) == pytest.approx(total / count, rel=1e-10)


def test_both_directions_are_translated(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    both = settings.data.changed(source_language="en", target_language="de", both_ways=True)
    data = prepare_data(replace(settings, data=both))
    seen: list[list[int]] = []

    def silent(_model: Transformer, sources: list[list[int]]) -> list[tuple[int, ...]]:
        seen.extend(sources)
        return [() for _ in sources]

    monkeypatch.setattr(validate_module, "greedy", silent)
    model = Transformer(
        data.with_vocabulary(ModelConfig(d_model=8, heads=1, feed_forward=8, encoder_layers=1, decoder_layers=1))
    )
    torch.set_num_threads(1)
    validate(model, data.corpus, data.valid_pairs, 256, 4)
    tags = {source[0] for source in seen}
    assert tags == {data.tokenizers.source.tag("en"), data.tokenizers.source.tag("de")}


def test_nothing_is_left_out_of_a_test_set_but_what_is_too_long_and_that_is_told(
    settings: Settings, tmp_path: Path
) -> None:
    source, target = tmp_path / "v.words", tmp_path / "v.roman"
    source.write_text("one\n\none\n" + "two " * 90 + "\n", encoding="utf-8")
    target.write_text("i\n\ni\n" + "ii " * 90 + "\n", encoding="utf-8")
    data = prepare_data(
        replace(settings, data=settings.data.changed(valid_source=str(source), valid_target=str(target), longest=64))
    )
    assert np.array_equal(data.valid_pairs, [0, 1, 2])
    assert "v.words:4" in data.report


@pytest.mark.parametrize("both_ways", [False, True])
def test_the_report_counts_each_pair_that_is_held_out_once(settings: Settings, both_ways: bool) -> None:
    languages = settings.data.changed(source_language="en", target_language="de", both_ways=both_ways)
    data = prepare_data(replace(settings, data=languages))
    pairs = {data.corpus.place(int(pair)) for pair in data.valid_pairs}
    [line] = [line for line in data.report.splitlines() if line.startswith("used to validate")]
    assert line.split()[-1] == str(len(pairs))
