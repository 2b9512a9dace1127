"""The API of the page over a real connection."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pellucid.config import DecodeConfig
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Translator
from pellucid.model_directory import ModelDirectory
from pellucid.tracing import explain

CAT = "the cat sat on the mat"
EN_DE = {"source": "en", "target": "de"}


def events(body: bytes) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for block in body.decode().split("\n\n")[:-1]:
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strategy": "greedy"},
        {"beam": 3, "n_best": 3, "length_penalty": 0.5},
        {"strategy": "sample", "top_k": 5, "temperature": 0.7, "seed": 3},
        {"strategy": "sample", "top_p": 0.9, "seed": 3, "n_best": 2},
        {"prefix": "ein Hund"},
        {"min_length": 4, "max_length": 6, "no_repeat_ngram": 2, "repetition_penalty": 1.2},
        {"stopping": "exact", "beam": 2},
        {"protect": True},
        {"split": False},
    ],
)
def test_every_option_of_a_search(shared: Any, translator: Translator, options: dict[str, Any]) -> None:
    text = f"{CAT}. a dog {{name}} ran."
    answer = shared.post("/api/translate", {"text": text, **EN_DE, **options})
    translation = translator.translate(text, "en", "de", **options)
    assert isinstance(translation, Translation)
    assert answer.json == {
        "text": translation.text,
        "score": translation.score,
        "tokens": list(translation.tokens),
        "alternatives": [
            {"text": other.text, "score": other.score, "tokens": list(other.tokens)}
            for other in translation.alternatives
        ],
        "source": "en",
        "target": "de",
        "notes": [],
    }


def test_languages_may_be_left_out_and_a_list_gives_a_list(shared: Any) -> None:
    answers = shared.post("/api/translate", {"text": [CAT, "die Katze am Fluss"], "source": None}).json
    assert [(answer["source"], answer["target"]) for answer in answers] == [("en", "de"), ("de", "en")]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"text": CAT, "beem": 3}, "did you mean 'beam'"),
        ({"text": CAT, "beam": "3"}, "give a whole number"),
        ({"text": CAT, "beam": 11}, "beam: 11 is more than this server allows (at most 10)"),
        ({"text": CAT, "beam": 10, "n_best": 7}, "n_best: 7 is more than this server allows (at most 6)"),
        ({"text": CAT, "strategy": "sample", "n_best": 7}, "n_best: 7"),
        ({"text": CAT, "max_length": 1025}, "max_length: 1025"),
        ({"text": CAT, "min_length": 1025}, "min_length: 1025"),
        ({"text": CAT, "temperature": 0.5}, "the strategy 'sample'"),
        ({"text": CAT, "protect": 1}, "protect"),
        ({"text": CAT, "prefix": ["a"]}, "prefix"),
        ({"text": CAT, "prefix": "x" * 1025}, "tokens are more than this server allows"),
        ({"text": CAT, "prefix": "x" * 10_001}, "prefix has 10001 characters"),
        ({"text": CAT, "source": 1, "split": "no"}, "split"),
        ({"text": CAT, "target": "xx"}, "'xx'"),
        ({"text": 1}, "string"),
        ({"text": CAT, "repetition_penalty": 10**400}, "not a finite number"),
        ({}, "missing text"),
    ],
)
@pytest.mark.parametrize("path", ["/api/translate", "/api/stream"])
def test_what_is_wrong_is_reported(shared: Any, path: str, values: dict[str, Any], message: str) -> None:
    answer = shared.post(path, values)
    assert answer.status == 400
    assert message in answer.json["error"] or path == "/api/stream"


def test_all_problems_of_a_body_are_reported_at_once(shared: Any) -> None:
    body = {"beem": 3, "target": 7, "beam": "wide", "strategy": "greedy", "n_best": 2, "protect": None}
    assert shared.post("/api/translate", body).json["error"].splitlines() == [
        "missing text: text to translate, or a list of texts",
        "target: 7 does not fit (give a string)",
        "beam: 'wide' does not fit (give a whole number)",
        "n_best: greedy finds one translation (use strategy 'beam' or 'sample')",
        "beem: unknown key (did you mean 'beam'?)",
    ]


@pytest.mark.parametrize("path", ["/api/stream", "/api/explain"])
def test_a_stream_and_an_explanation_take_one_text(shared: Any, path: str) -> None:
    assert "give a string" in shared.post(path, {"text": [CAT, CAT]}).json["error"]


def test_of_many_unknown_names_the_first_are_reported(shared: Any) -> None:
    message = shared.post("/api/translate", {"text": CAT} | {f"name{number}": 1 for number in range(5000)}).json[
        "error"
    ]
    assert message.count("\n") == 10
    assert message.endswith("and 4990 more unknown keys")


@pytest.mark.parametrize(
    "options",
    [
        {"repetition_penalty": 0},
        {"length_penalty": 1e308},
        {"length_penalty": -1e308},
        {"strategy": "sample", "temperature": 0},
        {"strategy": "sample", "temperature": 1e-300},
        {"strategy": "sample", "top_p": 0},
        {"strategy": "sample", "top_k": 10**9},
        {"strategy": "sample", "top_k": 10**30},
        {"strategy": "sample", "seed": 10**30},
        {"no_repeat_ngram": 10**30},
        {"min_length": 1000, "max_length": 1000, "beam": 1},
        {"prefix": "\ud800"},
        {"prefix": "x" * 1000},
    ],
)
def test_extreme_options_are_no_fault_of_the_server(shared: Any, options: dict[str, Any]) -> None:
    answer = shared.post("/api/translate", {"text": CAT, **EN_DE, **options})
    assert answer.status in (200, 400), answer.body


def test_a_shorter_limit_of_output_holds_without_being_asked_for(serve: Any) -> None:
    client = serve(output_limit=3)
    assert len(client.post("/api/translate", {"text": CAT, **EN_DE}).json["tokens"]) <= 3
    assert client.post("/api/translate", {"text": CAT, **EN_DE, "max_length": 4}).status == 400


@pytest.mark.parametrize("options", [{}, {"strategy": "beam", "beam": 2}, {"strategy": "sample", "seed": 2}])
def test_a_stream_is_the_translation_in_pieces(shared: Any, translator: Translator, options: dict[str, Any]) -> None:
    text = f"{CAT}. a dog ran!\n\nit is cold today 😀."
    answer = shared.post("/api/stream", {"text": text, **EN_DE, **options})
    assert answer.headers["content-type"].startswith("text/event-stream")
    (first, start), *pieces, (last, end) = events(answer.body)
    assert (first, start) == ("start", EN_DE)
    config = DecodeConfig(**{"strategy": "greedy", **options})
    [translation] = translator.translate_all(translator.source_texts([text], "en", "de"), config)
    assert (last, end["text"]) == ("end", translation.text)
    assert {name for name, _ in pieces} == {"piece"}
    assert "".join(data["text"] for _, data in pieces) == end["text"]


class Slow(Translator):
    """A stream that a test lets through piece by piece."""

    def __init__(self, directory: ModelDirectory) -> None:
        super().__init__(directory)
        self.pieces = threading.Semaphore(0)
        self.ended = threading.Event()
        self.fault: Exception | None = None

    def stream(self, *_: Any) -> Iterator[str]:
        try:
            for number in range(1000):
                assert self.pieces.acquire(timeout=60)
                if self.fault:
                    raise self.fault
                yield f"{number} "
        finally:
            self.ended.set()


@pytest.fixture
def slow(model: Path) -> Iterator[Slow]:
    translator = Slow(ModelDirectory(model))
    yield translator
    translator.pieces.release(10_000)


def test_pieces_arrive_before_the_end_and_a_reader_who_leaves_ends_the_work(serve: Any, slow: Slow) -> None:
    client = serve(slow)
    with closing(client.connect()) as connection:
        connection.request("POST", "/api/stream", json.dumps({"text": CAT}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        slow.pieces.release(2)
        found = b""
        while found.count(b"piece") < 2:
            found += response.readline()
        assert b'"0 "' in found
        assert not slow.ended.is_set()
        response.close()
    for _ in range(900):  # fewer than it has: the work ends early
        slow.pieces.release()
        if slow.ended.wait(0.01):
            return
    raise AssertionError("the work went on")


def test_a_fault_amid_a_stream_is_reported_without_its_words(serve: Any, slow: Slow) -> None:
    slow.fault = ValueError("secret words")
    slow.pieces.release(1)
    answer = serve(slow).post("/api/stream", {"text": CAT})
    assert events(answer.body)[-1] == ("error", {"error": "something went wrong on the server"})


def test_a_stream_that_takes_too_long_is_given_up(serve: Any, slow: Slow) -> None:
    answer = serve(slow, timeout=0.05).post("/api/stream", {"text": CAT})
    name, data = events(answer.body)[-1]
    assert name == "error"
    assert "longer than 0.05 s" in data["error"]


def test_more_streams_than_may_wait_are_turned_away(serve: Any, slow: Slow) -> None:
    client = serve(slow, threads=1, queue_limit=1)
    with closing(client.connect()) as connection:
        connection.request("POST", "/api/stream", json.dumps({"text": CAT}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        slow.pieces.release(1)
        while b"piece" not in response.readline():
            pass
        assert events(client.post("/api/stream", {"text": CAT}).body)[-1][0] == "error"
        response.close()


def test_explain_is_the_trace_that_python_gives(shared: Any, translator: Translator) -> None:
    answer = shared.post("/api/explain", {"text": CAT, **EN_DE})
    assert answer.headers["content-type"] == "application/json"
    assert answer.body.decode() == explain(translator, CAT, "en", "de").to_json()
    answer = shared.post("/api/explain", {"text": CAT, "target": "de", "target_text": "die Katze"})
    assert answer.body.decode() == explain(translator, CAT, "en", "de", target_text="die Katze").to_json()
    for wrong in (
        {"text": ""},
        {"text": "---"},
        {"text": [CAT, CAT]},
        {"text": CAT, "target_text": 7},
        {"text": CAT, "target_text": "die Katze " * 300},
        {"text": CAT, "beam": 3},
        {"text": CAT, "target": "xx"},
    ):
        assert shared.post("/api/explain", wrong).status == 400


def test_a_cell_is_opened_as_in_python(shared: Any, translator: Translator) -> None:
    given = {"text": CAT, **EN_DE, "target_text": "die Katze"}
    trace = explain(translator, CAT, "en", "de", target_text="die Katze")
    for cell in (
        "encoder.layers.0.self_attention.scores.2.3.4",
        "decoder.layers.0.self_attention.scores.0.0.1",
        "alignment.1.2",
    ):
        answer = shared.post("/api/cell", given | {"cell": cell})
        assert answer.json == trace.open_at(cell)
    for wrong in ("", "encoder", "alignment.1", "alignment.1.999", 7):
        assert shared.post("/api/cell", given | {"cell": wrong}).status == 400


def test_interventions_as_in_python(shared: Any, translator: Translator) -> None:
    body = {"text": CAT, **EN_DE, "intervene": ["encoder.0.head.1=0", "decoder.0.self_attention.mask=0"]}
    trace = explain(translator, CAT, "en", "de", intervene=body["intervene"])
    assert shared.post("/api/explain", body).body.decode() == trace.to_json()
    cell = "encoder.layers.0.self_attention.heads.1.2.3"
    opened = shared.post("/api/cell", body | {"cell": cell}).json
    assert trace.changed is not None
    assert opened == trace.changed.open_at(cell)
    assert (opened["number"], opened["changed"]) == (0, ["encoder.layers.0.self_attention.head.1"])
    for wrong in (["nothing=0"], "mask=0", [7], ["swap=0,99"], ["mask=0"] * 101):
        assert shared.post("/api/explain", body | {"intervene": wrong}).status == 400


def test_an_explanation_that_takes_too_long_is_given_up(
    serve: Any, held_reference: threading.Event, translator: Translator
) -> None:
    client = serve(threads=1, queue_limit=1, timeout=0.05)
    answer = client.post("/api/explain", {"text": CAT, **EN_DE})
    held_reference.set()
    assert answer.status == 503
    assert "longer than" in answer.json["error"]


@pytest.fixture
def held_reference(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Opening an engine waits until a test lets it."""
    event, opened = threading.Event(), translator.open

    def wait(name: Any) -> Any:
        assert event.wait(60)
        return opened(name)

    monkeypatch.setattr(translator, "open", wait)
    yield event
    event.set()


def test_the_model_is_described(shared: Any, translator: Translator) -> None:
    model = shared.get("/api/model").json
    assert model["config"] == translator.config.to_dict()
    assert model["engine"] == "ctranslate2"
    assert model["limits"]["beam_limit"] == 10
    assert set(model["options"]) == set(DecodeConfig.names())
    assert model["options"]["beam"] == {
        "type": "integer",
        "default": 5,
        "description": "beam size: number of hypotheses kept at each step",
        "minimum": 1,
    }
    assert model["options"]["strategy"]["enum"] == ["greedy", "beam", "sample"]
