"""What holds for every request: own answers under load, limits, headers, cancellation, an orderly end, silent logs."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

import pellucid.tracing
from pellucid.config import DecodeConfig
from pellucid.decode.hypotheses import StoppedError
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Translator
from pellucid.model_directory import ModelDirectory
from pellucid.serve import app, connections, log, middleware, parsing, service

WORDS = ["the", "cat", "sat", "on", "mat", "a", "dog", "ran", "to", "house", "we", "see", "old", "tree", "by", "cold"]
EN_DE = {"source": "en", "target": "de"}


def eventually(true: Callable[[], bool]) -> None:
    """Wait for what another thread is about to do."""
    ticking = threading.Event()
    for _ in range(6000):
        if true():
            return
        ticking.wait(0.01)
    raise AssertionError("it did not come about")


def test_concurrent_requests_get_their_own_answers_equal_to_single_ones(shared: Any, translator: Translator) -> None:
    draw = Random(7)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 9))) for _ in range(120)]
    options: list[dict[str, Any]] = [{"beam": 2}, {"strategy": "greedy"}, {"beam": 3, "n_best": 2}]
    asked = [{"text": text, "source": "en", "target": "de", **draw.choice(options)} for text in texts]
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda values: shared.post("/api/translate", values).json, asked))
    for values, answer in zip(asked, answers, strict=True):
        alone = translator.translate(**values)
        assert isinstance(alone, Translation)
        assert (answer["text"], answer["score"]) == (alone.text, alone.score)
        assert [other["text"] for other in answer["alternatives"]] == [other.text for other in alone.alternatives]


def test_waiting_requests_go_through_the_engine_together(serve: Any, held: Any) -> None:
    client = serve(held, threads=1)
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(client.post, "/translate", {"q": "first", **EN_DE})
        eventually(lambda: bool(held.begun))
        rest = [pool.submit(client.post, "/translate", {"q": f"cat {number}", **EN_DE}) for number in range(8)]
        eventually(lambda: unfinished(client) == 9)
        held.released.set()
        assert {answer.result().status for answer in (first, *rest)} == {200}
    assert [len(texts) for texts in held.begun] == [1, 8]


def unfinished(client: Any) -> int:
    return int(float(sample(client, "pellucid_unfinished_jobs")))


def sample(client: Any, name: str) -> str:
    lines = client.get("/metrics").body.decode().splitlines()
    return next((line.rsplit(" ", 1)[1] for line in lines if line.startswith(f"{name} ")), "0")


def test_a_full_queue_and_a_long_wait_are_reported(serve: Any, held: Any) -> None:
    client = serve(held, threads=1, queue_limit=1, timeout=0.2)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.post, "/translate", {"q": "first", **EN_DE})
        eventually(lambda: bool(held.begun))
        refused = client.post("/translate", {"q": "second", **EN_DE})
        assert refused.status == 503
        assert refused.headers["retry-after"]
        assert "try again" in refused.json["error"]
        assert client.get("/health").status == 200
        late = waiting.result()
        assert late.status == 503
        assert "longer than 0.2 s" in late.json["error"]


def test_the_work_of_a_client_who_leaves_is_not_begun(serve: Any, held: Any) -> None:
    client = serve(held, threads=1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/translate", {"q": "first", **EN_DE})
        eventually(lambda: bool(held.begun))
        connection = client.connect()
        body = json.dumps({"q": "left", **EN_DE})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        eventually(lambda: unfinished(client) == 2)
        connection.close()
        eventually(lambda: unfinished(client) == 1)
        held.released.set()
        assert first.result().status == 200
    assert client.post("/translate", {"q": "last", **EN_DE}).status == 200
    assert held.begun == [["first"], ["last"]]


def test_an_explanation_for_a_client_who_left_is_not_begun(
    serve: Any, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, begun = threading.Event(), []

    def explain(_: Translator, text: str, *languages: str | None, **more: Any) -> Any:
        begun.append(text)
        assert released.wait(60)
        return real(translator, text, *languages, **more)

    real = pellucid.tracing.explain
    monkeypatch.setattr(pellucid.tracing, "explain", explain)
    client = serve(translator, threads=1)
    asked = {"source": "en", "target": "de"}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/api/explain", {"text": "first", **asked})
        eventually(lambda: bool(begun))
        connection = client.connect()
        body = json.dumps({"text": "left", **asked})
        connection.request("POST", "/api/explain", body, {"Content-Type": "application/json"})
        eventually(lambda: unfinished(client) == 2)
        connection.close()
        eventually(lambda: unfinished(client) == 1)
        released.set()
        assert first.result().status == 200
    assert client.post("/api/explain", {"text": "last", **asked}).status == 200
    assert begun == ["first", "last"]


def test_work_that_was_begun_ends_when_its_client_has_left(serve: Any, translator: Translator) -> None:
    engine = translator.engine(DecodeConfig())
    stopped: list[int] = []
    reached, go_on = threading.Event(), threading.Event()

    class Watched:
        """An engine that waits before its search."""

        name = engine.name

        def search(self, sentences: Any, config: Any, stop: Any) -> Any:
            reached.set()
            assert go_on.wait(60)
            try:
                return engine.search(sentences, config, stop=stop)
            except StoppedError:
                stopped.append(len(sentences))
                raise

    translator.engine = lambda *_: Watched()  # type: ignore[method-assign,assignment]
    client = serve(translator, threads=1)
    connection = client.connect()
    body = json.dumps({"q": "\n".join(f"the cat {number}" for number in range(200)), **EN_DE})
    connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
    assert reached.wait(60)
    connection.close()
    eventually(lambda: 'endpoint="/translate",status="499"' in client.get("/metrics").body.decode())
    go_on.set()
    eventually(lambda: unfinished(client) == 0)
    assert stopped == [200]


def test_the_end_finishes_what_was_accepted(serve_until_stopped: Any, held: Any) -> None:
    server = serve_until_stopped(held, threads=1)
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(server.client.post, "/translate", {"q": f"cat {n}", **EN_DE}) for n in range(4)]
        eventually(lambda: unfinished(server.client) == 4)
        server.stop()
        eventually(lambda: refuses(server.client))  # nobody new is let in
        assert server.thread.is_alive()
        held.released.set()
        assert [answer.result().status for answer in answers] == [200] * 4
    server.thread.join(60)
    assert not server.thread.is_alive()


def refuses(client: Any) -> bool:
    try:
        client.get("/health")
    except OSError:
        return True
    return False


def test_a_body_that_is_announced_too_large_is_refused_before_it_comes(serve: Any) -> None:
    client = serve(bytes_limit=1000)
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1001\r\n\r\n"
    with closing(client.raw(head)) as connection:  # and nothing more is sent
        assert b" 413 " in connection.recv(65536)


def test_a_body_of_unknown_size_is_refused_as_soon_as_it_is_too_large(serve: Any) -> None:
    client = serve(bytes_limit=1000)
    head = (
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with closing(client.raw(head + b"1F4\r\n" + b" " * 500 + b"\r\n")) as connection:
        connection.sendall(b"1F5\r\n" + b" " * 501 + b"\r\n")  # the end of the body never comes
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b" 413 " in answer
    assert b"larger than 1000 bytes" in answer
    assert client.post("/translate", {"q": "x" * 900, **EN_DE}).status == 200


def test_a_body_that_does_not_arrive_is_given_up(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "BODY_TIMEOUT", 0.05)
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
    with closing(shared.raw(head)) as connection:
        assert b" 408 " in connection.recv(65536)


def test_a_head_that_does_not_arrive_is_given_up(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_TIMEOUT", 0.3)
    client = serve()
    whole = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    for sent in (b"", whole[:20]):
        with closing(client.raw(sent)) as connection:
            assert connection.recv(65536) == b""
    with closing(client.raw(whole)) as connection:  # one that asked, and then says too little
        answer = b""
        while b"ok" not in answer:
            answer += connection.recv(65536)
        connection.sendall(whole[:20])
        assert connection.recv(65536) == b""


def test_requests_a_minute(serve: Any) -> None:
    client = serve(req_limit=3)
    statuses = [client.post("/translate", {"q": "cat", **EN_DE}).status for _ in range(2)]
    statuses += [client.post("/translate", {}).status, client.post("/translate", {"q": "cat", **EN_DE}).status]
    assert statuses == [200, 200, 400, 429]
    refused = client.post("/api/stream", {"text": "cat"})
    assert refused.status == 429
    assert int(refused.headers["retry-after"]) > 0
    assert "no more than 3 requests a minute" in refused.json["error"]
    for exempt in ("/health", "/metrics", "/languages", "/frontend/settings", "/spec", "/api/model"):
        assert client.get(exempt).status == 200


def test_the_work_of_a_request_is_bounded(serve: Any) -> None:
    """Two sentences of a word: with 5 hypotheses of at most 20 tokens each, 200 tokens are searched at most."""
    client = serve(search_limit=199)
    fits, too_much = ({"text": "cat\ndog", "beam": beam, "max_length": 20, **EN_DE} for beam in (4, 5))
    for path in ("/api/translate", "/api/stream"):
        settings = {"strategy": "beam"} if "stream" in path else {}
        assert client.post(path, {**fits, **settings}).status == 200
        refused = client.post(path, {**too_much, **settings})
        assert refused.status == 400
        assert "200 tokens" in refused.json["error"]
        assert "lower beam" in refused.json["error"]


def test_each_text_of_a_list_counts(serve: Any) -> None:
    client = serve(req_limit=60)
    assert client.post("/translate", {"q": ["cat"] * 60, "text": "an ignored field", **EN_DE}).status == 200
    assert client.post("/translate", {"q": "cat", **EN_DE}).status == 429


def test_lists_count_where_their_length_has_no_limit(serve: Any) -> None:
    client = serve(req_limit=60, batch_limit=-1, char_limit=-1)
    assert client.post("/translate", {"q": ["cat"] * 101, **EN_DE}).status == 200
    assert client.post("/translate", {"q": "cat", **EN_DE}).status == 429


def test_a_limit_below_the_usual_beam_narrows_it(serve: Any, translator: Translator) -> None:
    client = serve(beam_limit=2, alternatives_limit=1)
    alone = translator.translate("the cat sat", "en", "de", beam=2)
    assert isinstance(alone, Translation)
    assert client.post("/translate", {"q": "the cat sat", **EN_DE}).json == {"translatedText": alone.text}
    assert client.post("/api/translate", {"text": "the cat sat", **EN_DE}).json["score"] == alone.score
    assert client.post("/api/translate", {"text": "the cat sat", **EN_DE, "beam": 3}).status == 400


def test_time_counts_if_it_is_reported_to(serve: Any) -> None:
    client = serve(req_limit=60, req_time_cost=1e-6)
    assert client.post("/translate", {"q": "cat", **EN_DE}).status == 200
    assert client.post("/translate", {"q": "cat", **EN_DE}).status == 429


def test_api_keys(serve: Any, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("alpha\nbeta 1\n", encoding="utf-8")
    client = serve(api_keys=str(path))
    for key in (None, "", "gamma", 7, ["alpha"], {"alpha": 1}):
        answer = client.post("/translate", {"q": "cat", **EN_DE, "api_key": key})
        assert answer.status == 403
        assert "API key" in answer.json["error"]
    assert client.post("/translate", {"q": "cat", **EN_DE, "api_key": "alpha"}).status == 200
    assert client.form("/detect", {"q": "cat", "api_key": "alpha"}).status == 200
    assert client.post("/api/translate", {"text": "cat", "api_key": "alpha"}).status == 200
    assert client.post("/api/translate", {"text": "cat"}).status == 403
    assert client.post("/api/stream", {"text": "cat"}).status == 403
    statuses = [client.post("/translate", {"q": "cat", **EN_DE, "api_key": "beta"}).status for _ in range(2)]
    assert statuses == [200, 429]
    assert client.get("/frontend/settings").json["keyRequired"] is True


def test_wrong_keys_are_throttled(serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "WRONG_KEYS", 3)
    path = tmp_path / "keys"
    path.write_text("alpha\n", encoding="utf-8")
    client = serve(api_keys=str(path))
    keys = ["alpha", "a", "", "b", "alpha", "c", "d", "alpha"]
    statuses = [client.post("/translate", {"q": "cat", **EN_DE, "api_key": key}).status for key in keys]
    assert statuses == [200, 403, 403, 403, 200, 403, 429, 429]  # no guess is told from the right key any more


def test_a_body_of_two_lengths_is_refused_and_the_connection_closed(shared: Any) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with closing(shared.raw(head + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")) as connection:
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b" 400 " in answer


def test_a_client_that_never_reads_is_cut_off(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks for far more than the buffers of the two sockets take, and reads nothing."""
    monkeypatch.setattr(connections, "WRITE_TIMEOUT", 0.3)
    client = serve()
    with closing(client.raw(b"")) as connection, suppress(OSError):
        connection.settimeout(60)
        for _ in range(10_000):  # sending fails when the server has closed the connection
            connection.sendall(b"GET /spec HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
        pytest.fail("the connection was never closed")
    assert client.get("/health").status == 200


def test_connections_of_a_client_are_counted(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.Connection, "limits", connections.ConnectionLimits(per_client=2))
    client = serve()
    with closing(client.raw(b"")), closing(client.raw(b"")) as second:
        with closing(client.raw(b"")) as third:
            assert third.recv(1) == b""
        second.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in second.recv(65536)


def test_health_is_answered_when_all_connections_are_taken(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.Connection, "limits", connections.ConnectionLimits(total=2))
    monkeypatch.setattr(connections, "RESERVED", 1)
    client = serve()
    with closing(client.raw(b"")), closing(client.raw(b"")) as second:
        assert client.get("/health").status == 200
        refused = client.get("/languages")
        assert refused.status == 503
        assert refused.headers["connection"] == "close"
        second.sendall(b"GET /languages HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in second.recv(65536)
        with closing(client.raw(b"")), closing(client.raw(b"")) as fourth:
            assert fourth.recv(1) == b""


def test_the_metrics_may_ask_for_a_token(serve: Any) -> None:
    client = serve(metrics_auth_token="sesame")
    assert client.get("/metrics").status == 401
    assert client.get("/metrics", {"Authorization": "Bearer sésame"}).status == 401
    assert client.get("/metrics", {"Authorization": "Bearer sesame"}).status == 200


def test_metrics_count_what_happened(serve: Any) -> None:
    client = serve()
    client.post("/translate", {"q": ["the cat", "a dog"], **EN_DE})
    client.post("/translate", {"q": "cat", "source": "en", "target": "xx"})
    client.get("/nowhere/the-cat")
    text = client.get("/metrics").body.decode()
    for line in (
        'pellucid_requests_total{endpoint="/translate",status="200"} 1.0',
        'pellucid_requests_total{endpoint="/translate",status="400"} 1.0',
        'pellucid_requests_total{endpoint="other",status="404"} 1.0',
        "pellucid_texts_total 2.0",
        "pellucid_characters_total 12.0",
        "pellucid_request_seconds_count 3.0",
    ):
        assert f"{line}\n" in text
    assert "cat" not in text


def test_headers_keep_the_page_to_itself(serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>Pellucid</title>", encoding="utf-8")
    (tmp_path / "page.js").write_text("1", encoding="utf-8")
    monkeypatch.setattr(app, "PAGE", tmp_path)
    client = serve()
    for path, status in (
        ("/", 200),
        ("/static/page.js", 200),
        ("/health", 200),
        ("/nowhere", 404),
        ("/translate", 405),
        ("/static/no", 404),
    ):
        answer = client.get(path)
        assert answer.status == status
        policy = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert not any("unsafe" in value or "http" in value or "*" in value for value in policy.values())
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers
    assert client.send("POST", "/languages").status == 405
    for outside in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/hostname", "/static/"):
        assert client.get(outside).status == 404
    assert client.get("/static/page.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/static/page.js").headers["cache-control"] == "no-cache"
    assert client.get("/languages").headers["cache-control"] == "no-store"
    assert serve(disable_web_ui=True).get("/").status == 404


def test_other_origins_only_where_asked_for(serve: Any) -> None:
    client = serve(cors_origin="https://example.org")
    answer = client.get("/languages", {"Origin": "https://example.org"})
    assert answer.headers["access-control-allow-origin"] == "https://example.org"
    assert "access-control-allow-origin" not in client.get("/languages", {"Origin": "https://example.com"}).headers
    ask = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    assert client.send("OPTIONS", "/translate", headers=ask).status == 200


class Broken(Translator):
    """A translator whose errors quote the text."""

    def translate_all(self, sources: Any, *_: Any, **__: Any) -> list[Translation]:
        raise KeyError(f"no idea what {sources} means")


def test_logs_never_contain_text(serve: Any, model: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pellucid")
    caplog.set_level(logging.DEBUG, "uvicorn")
    secret = "Zwiebelkuchen"
    client, broken = serve(), serve(Broken(ModelDirectory(model)))
    client.post("/translate", {"q": secret, **EN_DE})
    client.send("POST", f"/translate?q={secret}&source=en&target=de")
    client.send("POST", f"/translate?q=cat&source={secret}&target=de")
    client.get(f"/{secret}")
    client.send(secret, "/translate")
    client.post("/api/stream", {"text": secret, "target": "de"})
    client.send("POST", "/translate", f'{{"q": "{secret}', {"Content-Type": "application/json"})
    with closing(client.raw(f"{secret}\r\n\r\n".encode())) as connection:
        connection.recv(65536)
    answer = broken.post("/translate", {"q": secret, **EN_DE})
    assert answer.status == 500
    assert answer.json == {"error": "something went wrong on the server"}
    assert "KeyError at" in caplog.text
    assert "test_server.py" in caplog.text
    assert "POST /translate 200" in caplog.text
    assert secret not in caplog.text
    assert secret.lower() not in caplog.text.lower()


def test_errors_of_other_libraries_are_logged_without_their_message() -> None:
    try:
        raise ValueError("secret")
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "Exception in ASGI application", (), None)
        record.exc_info = (type(error), error, error.__traceback__)
    text = log.RedactedFormatter("%(message)s").format(record)
    assert "ValueError at" in text
    assert "secret" not in text


def test_repeated_warnings_are_counted_instead_of_logged() -> None:
    now = [0.0]
    throttle = log.Throttle(lambda: now[0])

    def passes(level: int, text: str) -> str:
        record = logging.LogRecord("x", level, "", 0, text, (), None)
        return record.getMessage() if throttle.filter(record) else ""

    assert [passes(logging.ERROR, "no") for _ in range(12)] == ["no"] * 10 + ["", ""]
    assert passes(logging.ERROR, "other") == "other"
    assert all(passes(logging.INFO, "GET") for _ in range(100))
    now[0] = 60.0
    assert passes(logging.ERROR, "no") == "no (and 2 like it that were not logged)"
    assert passes(logging.ERROR, "no") == "no"


def test_json_can_always_be_written() -> None:
    assert middleware.SafeJSONResponse({"a": "\ud800é"}).body == '{"a":"?é"}'.encode()
