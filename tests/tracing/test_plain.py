"""A trace as data: bounded, rounded, and nothing in it that JSON does not know."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.tracing import Trace, explain, plain

MakeModel = Callable[..., Path]


def count(data: Any) -> int:
    return sum(map(count, data)) if isinstance(data, list) else 1


@pytest.fixture(scope="module")
def long(make_model: MakeModel) -> Trace:
    return explain(
        make_model(), "the cat sat on the mat by the old tree " * 9, "en", "de", target_text="ein Hund " * 40
    )


def test_long_input_is_cut_and_says_so(long: Trace) -> None:
    data = long.to_dict()
    assert len(data["source_tokens"]) > 100
    assert len(data["steps"]) == len(data["target_out"]) > 100
    length = len(data["source_tokens"])
    weights = data["values"]["encoder.layers.0.self_attention.weights"]
    assert weights["shape"] == [4, length, length]
    assert np.shape(weights["values"]) == (4, 64, 64)
    assert np.shape(data["alignment"]) == (64, 64)
    assert np.shape(data["masks"]["decoder.self_attention"]) == (64, 64)
    kept = data["kept"]
    embedding = data["values"]["encoder.input.embedding"]
    assert embedding["shape"] == [length, 32]
    assert np.shape(embedding["values"]) == (64, min(32, kept["features"]))


def test_what_is_kept_are_the_first_positions_and_features(long: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "NUMBERS", 1)
    data = long.to_dict()
    assert data["kept"] == {"positions": 64, "features": 32, "head_features": 8}
    query = data["values"]["decoder.layers.1.self_attention.query"]
    whole = long.values["decoder.layers.1.self_attention.query"]
    np.testing.assert_allclose(query["values"], whole[:, :64, :8], atol=1e-5 * np.abs(whole).max())
    hidden = data["values"]["encoder.layers.1.feed_forward.hidden"]
    assert hidden["shape"][1] == 48
    assert np.shape(hidden["values"]) == (64, 32)


def test_features_fill_the_room_there_is(long: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {name: value for name, value in long.values.items() if name != plain.LOGITS}
    sizes = []
    for room in (300_000, 200_000, 150_000):
        monkeypatch.setattr(plain, "NUMBERS", room)
        sizes.append(sum(count(entry["values"]) for entry in long.to_dict()["values"].values()))
        assert sizes[-1] <= room or plain.fitting_features(values, room) == plain.FEWEST_FEATURES
    assert sizes == sorted(sizes, reverse=True)


def test_it_is_json(long: Trace) -> None:
    assert json.loads(long.to_json(), parse_constant=pytest.fail) == json.loads(json.dumps(long.to_dict()))


def test_two_traces_of_a_sentence_are_equal(make_model: MakeModel) -> None:
    first, second = (explain(make_model(), "the cat sat", "en", "de").to_json() for _ in range(2))
    assert first == second


def test_numbers_are_rounded_to_a_part_of_the_largest() -> None:
    assert plain.rounded(np.array([123.456789, -0.00012, 1.5])) == [123.457, 0.0, 1.5]
    assert plain.rounded(np.array([[0.00012345678, -np.inf]])) == [[0.000123457, None]]
    assert plain.rounded(np.zeros((1, 2))) == [[0.0, 0.0]]
    assert str(plain.rounded(np.array([1.0, -1e-9]))[1]) == "0.0"


def test_nothing_is_a_negative_zero(make_model: MakeModel) -> None:
    trace = explain(make_model(), "the cat", "en", "de", target_text="ein Hund")
    certain = replace(trace, scores=(replace(trace.scores[0], score=-0.0),))
    assert "-0.0," not in certain.to_json().replace("}", ",").replace("]", ",")
    assert json.loads(certain.to_json())["scores"][0]["score"] == 0


def test_half_a_character_can_be_written(make_model: MakeModel) -> None:
    assert json.loads(explain(make_model(), "\ud800 cat", "en", "de").to_json().encode())["source"] == "en"
