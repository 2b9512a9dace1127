"""The labs over HTTP: what is committed, and one run at a time, which can be bounded, cancelled and refused."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from pellucid.labs import NAMES, committed, lab

LONG = {"name": "xor", "changes": {"seeds": 20, "updates": 20_000}}  # minutes
SHORT = {"name": "xor", "changes": {"seeds": 1, "updates": 30}}


def events(client: Any, body: Any) -> Iterator[tuple[str, Any]]:
    """The events of a run as they arrive. Closing the iterator closes the connection."""
    with closing(client.connect()) as connection:
        connection.request("POST", "/api/labs/run", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        while line := response.readline():
            name = line.decode().removeprefix("event: ").strip()
            data = json.loads(response.readline().decode().removeprefix("data: "))
            response.readline()
            yield name, data


def test_every_lab_comes_with_its_committed_result(shared: Any) -> None:
    labs = shared.get("/api/labs").json
    assert [each["name"] for each in labs] == list(NAMES)
    for each in labs:
        assert each["result"] == json.loads(json.dumps(committed(each["name"]).plain()))
        assert each["settings"]["seeds"] | {"description": ""} == {
            "type": "integer", "default": 5, "minimum": 1, "maximum": 20, "description": "",
        }  # fmt: skip


def test_a_run_reports_its_progress_and_ends_with_what_python_measures(shared: Any) -> None:
    *progress, (name, result) = events(shared, SHORT)
    assert {each for each, _ in progress} == {"progress"}
    assert all(0 <= each["done"] <= 1 for _, each in progress)
    assert {each["curve"] for _, each in progress} >= {"tanh", "relu"}
    assert name == "result"
    expected = lab("xor").run(quick=True, seeds=1, updates=30).plain()
    assert {**result, "seconds": 0} == json.loads(json.dumps({**expected, "seconds": 0}))


def test_there_is_one_run_at_a_time_and_closing_the_connection_ends_it(serve: Any) -> None:
    client = serve()
    long = events(client, LONG)
    assert next(long)[0] == "progress"
    assert list(events(client, SHORT)) == [("error", {"error": "another lab is running (try again when it has ended)"})]
    long.close()  # type: ignore[attr-defined]
    for _ in range(600):  # until the server has noticed
        *_, (name, _content) = events(client, SHORT)
        if name == "result":
            break
        time.sleep(0.05)
    assert name == "result"


def test_a_run_that_takes_too_long_is_aborted_and_the_next_may_begin(serve: Any) -> None:
    client = serve(lab_timeout=1)
    *_, (name, content) = events(client, LONG)
    assert name == "error"
    assert content["error"] == "the lab took longer than 1 s (choose fewer seeds or updates)"
    assert next(events(client, SHORT))[0] == "progress"


def test_a_server_can_forbid_runs(serve: Any) -> None:
    client = serve(lab_timeout=0)
    assert client.post("/api/labs/run", SHORT).status == 403
    assert client.get("/api/labs").status == 200


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "missing name"),
        ({"name": "xorr"}, "there is no lab called 'xorr' (did you mean 'xor'?)"),
        ({"name": "xor", "changes": {"hidden": 0}}, "changes.hidden: 0 is out of range (give a number from 1 to 64)"),
        ({"name": "xor", "changes": {"hiden": 1}}, "changes.hiden: unknown key (value 1) (did you mean 'hidden'?)"),
        ({"name": "xor", "changes": {"seeds": "two"}}, "changes.seeds: 'two' does not fit (give a whole number)"),
        ({"name": "xor", "changes": [1]}, "changes: [1] does not fit (give an object)"),
    ],
)
def test_what_cannot_be_run_is_reported(shared: Any, body: dict[str, Any], message: str) -> None:
    answer = shared.post("/api/labs/run", body)
    assert answer.status == 400
    assert message in answer.json["error"]
