"""The worked examples over HTTP: as the checker has them, and with other numbers."""

from __future__ import annotations

from typing import Any

import pytest

from pellucid.worked import check, read, shipped

RIGHT = [["0.22", "0.18"], ["0.41", "0.39"]]  # of Q Kᵀ in W6, by hand


def _step(example: Any, name: str) -> Any:
    return next(step for step in example["steps"] if step["name"] == name)


def test_every_example_has_the_verdicts_of_the_checker(shared: Any) -> None:
    examples = shared.get("/api/worked").json
    checked = [check(read(str(path))).to_dict() for path in shipped()]
    assert [example["id"] for example in examples] == [example["id"] for example in checked]
    for example, other in zip(examples, checked, strict=True):
        verdicts = [(s["name"], s["verdict"], s["elements"], s["cause"]) for s in example["steps"]]
        assert verdicts == [(s["name"], s["verdict"], s["elements"], s["cause"]) for s in other["steps"]]
        unedited = {
            "id": example["id"],
            "inputs": {each["name"]: each["written"] for each in example["inputs"]},
            "stated": {step["name"]: step["stated"] for step in example["steps"] if step["stated"] is not None},
        }
        assert shared.post("/api/worked", unedited).json == example


def test_a_number_is_judged_by_the_digits_it_is_written_with(shared: Any) -> None:
    """1 / (1 + e + e²) is 0.0900306."""
    for written, verdict in (("0.090", "right"), ("0.09003", "right"), ("0.0901", "rounded"), ("0.0902", "wrong")):
        answer = shared.post("/api/worked", {"id": "W2", "stated": {"weights": ["0.665", "0.245", written]}}).json
        assert _step(answer, "weights")["elements"][2] == verdict
        assert _step(answer, "weights")["stated"][2] == written


def test_what_follows_is_computed_again(shared: Any) -> None:
    answer = shared.post("/api/worked", {"id": "W6", "stated": {"scores": RIGHT}}).json
    assert _step(answer, "scores")["verdict"] == "right"
    assert _step(answer, "scaled")["verdict"] == "wrong"  # no longer carried along
    answer = shared.post("/api/worked", {"id": "W6", "inputs": {"Q": [["1", "0"], ["0", "1"]]}}).json
    assert _step(answer, "scores")["right"] == {"shape": [2, 2], "values": [["0.20", "0.60"], ["0.50", "0.30"]]}


def test_a_place_that_states_nothing_is_not_judged(shared: Any) -> None:
    answer = shared.post("/api/worked", {"id": "W6", "stated": {"scores": [["", "?"], ["0.41", "0.39"]]}}).json
    assert _step(answer, "scores")["elements"] == [[None, None], ["right", "right"]]
    answer = shared.post("/api/worked", {"id": "W6", "stated": {"scores": [["", ""], ["", ""]]}}).json
    assert _step(answer, "scores")["verdict"] is None


def test_a_sheet_of_ones_own(shared: Any) -> None:
    sheet = 'id = "mine"\n[inputs]\nx = ["1/2", 3]\n[[steps]]\nname = "a"\nexpression = "2 * x"\nstated = "?"\n'
    answer = shared.post("/api/worked", {"id": "mine", "sheet": sheet.replace('"1/2"', "0.5")}).json
    assert (_step(answer, "a")["open"], _step(answer, "a")["stated"]) == (True, ["?", "?"])
    edited = {"id": "mine", "sheet": answer["sheet"], "stated": {"a": ["1", "12/2"]}}
    answer = shared.post("/api/worked", edited).json
    assert _step(answer, "a")["elements"] == ["right", "right"]
    again = shared.post("/api/worked", {"id": "mine", "sheet": answer["sheet"]}).json
    assert again == answer
    wrong = shared.post("/api/worked", {"id": "mine", "sheet": "[[steps]]\nname = 3"})
    assert wrong.status == 400
    assert "sheet:2:8: name is not a string" in wrong.json["error"]
    templates = [each["id"] for each in shared.get("/api/templates").json]
    assert all(shared.post("/api/worked", {"id": name}).json["sheet"] for name in templates)


def test_large_values_are_shown_in_part(shared: Any) -> None:
    answer = shared.post("/api/worked", {"id": "W4", "inputs": {"length": "400", "d_model": "500"}}).json
    positions = _step(answer, "positions")["right"]
    assert positions["shape"] == [400, 500]
    assert (len(positions["values"]), len(positions["values"][0])) == (24, 16)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "missing id"),
        ({"id": ["W6"]}, "id: ['W6'] does not fit (give a string)"),
        ({"id": "zz"}, "id: 'zz' is not a worked example"),
        ({"id": "W66"}, "did you mean 'W6'?"),
        ({"id": "W6", "input": {}}, "did you mean 'inputs'?"),
        ({"id": "W6", "inputs": []}, "inputs: [] does not fit (give an object)"),
        ({"id": "W6", "inputs": {"R": "1"}}, "inputs.R: unknown name"),
        ({"id": "W6", "inputs": {"d_k": "two"}}, "inputs.d_k: 'two' is not a number"),
        ({"id": "W6", "inputs": {"d_k": ""}}, "inputs.d_k: '' is not a number"),
        ({"id": "W6", "inputs": {"d_k": 2}}, "inputs.d_k: is not written as text"),
        ({"id": "W6", "inputs": {"d_k": "1" * 41}}, "inputs.d_k: is not written as text"),
        ({"id": "W6", "inputs": {"d_k": "1e999"}}, "inputs.d_k: a number is too large"),
        ({"id": "W6", "inputs": {"Q": [["1", "2"]]}}, "inputs.Q: has another shape"),
        ({"id": "W6", "stated": {"scores": "1"}}, "stated.scores: has another shape"),
        ({"id": "W4", "inputs": {"length": "100000"}}, "w04.toml:11:15: a value of 400000 numbers is too large"),
    ],
)
def test_what_cannot_be_checked_is_reported(shared: Any, body: dict[str, Any], message: str) -> None:
    answer = shared.post("/api/worked", body)
    assert answer.status == 400
    assert message in answer.json["error"]
    assert "/pellucid/" not in answer.json["error"]  # nothing about the machine


def test_the_number_of_requests_is_limited_here_too(serve: Any) -> None:
    client = serve(req_limit=2)
    assert [client.post("/api/worked", {"id": "W6"}).status for _ in range(3)] == [200, 200, 429]
