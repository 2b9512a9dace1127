"""Runs with snapshots over HTTP: the same as in Python, moment by moment, and no file that was not offered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import pellucid
from pellucid.decode.translator import load
from pellucid.model_directory.snapshots import Sample, Snapshots


def events(client: Any, body: Any) -> Iterator[tuple[str, Any]]:
    with closing(client.connect()) as connection:
        connection.request("POST", "/api/learning", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        while line := response.readline():
            name = line.decode().removeprefix("event: ").strip()
            data = json.loads(response.readline().decode().removeprefix("data: "))
            response.readline()
            yield name, data


@pytest.fixture
def own(model: Path, tmp_path: Path) -> Path:
    """The model of a run that kept two snapshots."""
    shutil.copytree(model, tmp_path / "mine" / "model")
    snapshots, directory = Snapshots(tmp_path / "mine" / "snapshots"), pellucid.load(model).directory
    snapshots.create(directory.config, directory.metadata, Sample("a secret", "ein Geheimnis", "en", "de"))
    for step in (0, 5):
        snapshots.save(step, directory.weights(), remedy="")
    return tmp_path / "mine" / "model"


def test_the_moments_are_those_of_python(shared: Any) -> None:
    body: dict[str, Any] = {"run": "dates", "text": "le 14 juillet 1989", "target_text": "1989-07-14"}
    learning = json.loads(pellucid.watch("dates", body["text"], target_text=body["target_text"]).to_json())
    (first, start), *moments, (last, _) = events(shared, body)
    assert (first, last) == ("start", "end")
    assert {name for name, _ in moments} == {"moment"}
    assert start | {"moments": [moment for _, moment in moments]} == learning


def test_a_step_of_a_run_is_explained_and_opened_like_the_model(shared: Any) -> None:
    body: dict[str, Any] = {
        "text": "le 14 juillet 1989",
        "target_text": "1989-07-14",
        "run": "dates",
        "step": 520,
    }
    trace = pellucid.watch("dates", body["text"], target_text=body["target_text"]).at(520)
    answer = shared.post("/api/explain", body).json
    assert answer["values"] == trace.to_dict()["values"]
    assert answer["model"] == "dates, step 520"
    cell = "decoder.layers.1.cross_attention.scores.2.1.0"
    assert shared.post("/api/cell", {**body, "cell": cell}).json["number"] == trace.open_at(cell)["number"]
    changed = shared.post("/api/explain", {**body, "intervene": ["encoder.positions=0"]}).json["changed"]
    assert changed["interventions"] == ["encoder.positions=0"]


def test_the_run_of_the_model_that_is_served_comes_first_and_its_sentence_is_no_public_list(
    serve: Any, own: Path
) -> None:
    client = serve(load(own))
    runs = client.get("/api/runs")
    assert [(run["name"], run["sample"]) for run in runs.json] == [("mine", True), ("dates", True)]
    assert runs.json[0]["steps"] == [0, 5]
    assert "secret" not in runs.body.decode()
    (_, start), *_ = events(client, {"run": "mine"})
    assert start["trace"]["text"] == "a secret"


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        ("/api/learning", {"run": "../../etc"}, "no run '../../etc' with snapshots"),
        ("/api/learning", {}, "missing run"),
        ("/api/learning", {"run": "dates", "text": 10 * "x" * 10_000}, "characters"),
        ("/api/explain", {"text": "a", "run": "dates"}, "run or step: given without the other"),
        ("/api/explain", {"text": "a", "run": "dates", "step": 3}, "no snapshot was kept at step 3"),
        ("/api/explain", {"text": "a", "run": "/tmp", "step": 3}, "no run '/tmp'"),
    ],
)
def test_what_is_wrong_is_reported(shared: Any, path: str, body: Any, problem: str) -> None:
    answer = shared.post(path, body)
    assert answer.status == 400
    assert problem in answer.json["error"]


def test_what_is_wrong_with_the_sentence_is_an_event(shared: Any) -> None:
    [(name, content)] = events(shared, {"run": "dates", "text": " ", "target_text": "x"})
    assert name == "error"
    assert "nothing to translate" in content["error"]


def test_the_stream_needs_the_key_where_one_is_required(serve: Any, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("key\n", encoding="utf-8")
    client = serve(api_keys=str(tmp_path / "keys.txt"))
    assert client.post("/api/learning", {"run": "dates"}).status == 403
    assert client.get("/api/runs").status == 200
