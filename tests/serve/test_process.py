"""The service as the process that people start."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple

import pytest
from libretranslatepy import LibreTranslateAPI

from pellucid.serve.run import listen

MEGABYTE = 1 << 20


class Process(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    log: Path


@contextmanager
def started(command: list[str], log: Path) -> Iterator[Process]:
    """A service that a command starts. Its log goes to a file: a pipe that nobody reads would stop it when full."""
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found, log.read_text()
            yield Process(process, int(found[1]), log)
        finally:
            process.kill()


def command(model: Path, *options: str) -> list[str]:
    """`pellucid serve` on a free port."""
    return [sys.executable, "-m", "pellucid", "serve", "--model", str(model), "--port", "0", *options]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_starts_answers_and_ends_when_asked(model: Path, tmp_path: Path, number: signal.Signals) -> None:
    with started(command(model), tmp_path / "log") as service:
        client = LibreTranslateAPI(f"http://127.0.0.1:{service.port}")
        assert isinstance(client.translate("the cat", "en", "de"), str)
        service.process.send_signal(number)
        assert service.process.wait(60) == 0
        log = service.log.read_text()
        assert "POST /translate 200" in log
        assert "Traceback" not in log


def test_it_needs_no_torch(model: Path, tmp_path: Path) -> None:
    program = """
import sys
sys.modules["torch"] = None
sys.argv = ["pellucid", "serve", "--model", sys.argv[1], "--port", "0"]
from pellucid.cli import main
main()
"""
    with started([sys.executable, "-c", program, str(model)], tmp_path / "log") as service:
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) == 0


@pytest.mark.parametrize(("options", "second"), [([], 429), (["--forwarded-allow-ips", "127.0.0.1"], 200)])
def test_who_asks_is_believed_of_a_known_proxy_only(
    model: Path, tmp_path: Path, options: list[str], second: int
) -> None:
    with started(command(model, "--req-limit", "1", *options), tmp_path / "log") as service:
        statuses = []
        for address in ("192.0.2.1", "192.0.2.2"):
            with closing(HTTPConnection("127.0.0.1", service.port, timeout=60)) as connection:
                connection.request("POST", "/detect?q=cat", headers={"X-Forwarded-For": address})
                statuses.append(connection.getresponse().status)
    assert statuses == [200, second]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_answers_are_sent_without_delay(host: str) -> None:
    """asyncio looks at the protocol of a connection to know that it is TCP."""
    with (
        listen(host, 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "99999"], "from 0 to 65535"),
        (["--host", "192.0.2.1"], "cannot listen"),
        (["--char-limit", "-2"], "--char-limit: -2 is out of range"),
        (["--alternatives-limit", "10"], "--alternatives-limit"),
        (["--api-keys", "nowhere"], "nowhere: cannot be read"),
        (["--engine", "tork"], "did you mean 'torch'"),
        (["--compute-type", "int9"], "--compute-type"),
        (["--model", "nowhere"], "no model 'nowhere'"),
    ],
)
def test_what_is_wrong_is_reported_before_it_starts(model: Path, options: list[str], message: str) -> None:
    done = subprocess.run(command(model, *options), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell a process its memory")
@pytest.mark.parametrize("requests", [400, pytest.param(10_000, marks=pytest.mark.proof)])
def test_memory_stays_flat(model: Path, tmp_path: Path, requests: int) -> None:
    with started(command(model, "--req-limit", "-1"), tmp_path / "log") as service:
        ask(service.port, range(200))  # what is made once is made
        before = resident_bytes(service.port)
        ask(service.port, range(200, 200 + requests))
        grown = resident_bytes(service.port) - before
    assert grown < 6 * MEGABYTE


def ask(port: int, numbers: range) -> None:
    """Requests of every kind, none of them twice, some over connections of their own, from four clients at once."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda start: ask_some(port, numbers[start::4]), range(4)))


def ask_some(port: int, numbers: range) -> None:
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        for number in numbers:
            text = f"the cat {number} sat on the mat"
            path, values = [
                ("/translate", {"q": text, "source": "auto", "target": "de", "alternatives": 2}),
                ("/api/translate", {"text": [text, f"<b>{text}</b>"], "strategy": "greedy", "target": "de"}),
                ("/api/stream", {"text": text, "target": "de"}),
                ("/translate", {"q": f"<p>{text}</p>", "source": "en", "target": "de", "format": "html"}),
                ("/translate", {"q": text, "source": "en", "target": f"x{number}"}),
                (f"/nowhere/{number}", {}),
            ][number % 6]
            connection.request("POST", path, json.dumps(values), {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert response.status in (200, 400, 404, 405)
            response.read()
            if number % 7 == 0:
                connection.close()


def resident_bytes(port: int) -> int:
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    found = re.search(r"^process_resident_memory_bytes (\S+)$", text, re.MULTILINE)
    assert found
    return int(float(found[1]))


def test_a_search_that_does_not_stop_cannot_keep_the_process(model: Path, tmp_path: Path) -> None:
    program = f"""
import time
from pellucid.config import ServeConfig
from pellucid.decode.translator import Translator, load
from pellucid.serve import run

run.HARD_EXIT = 1
translator = load({str(model)!r})
Translator.translate_all = lambda *_, **__: print("begun", flush=True) or time.sleep(3600)
run.run(translator, ServeConfig(grace_period=0.1), "127.0.0.1", 0)
"""
    with started([sys.executable, "-c", program], tmp_path / "log") as service:
        assert service.process.stdout is not None
        with closing(HTTPConnection("127.0.0.1", service.port)) as connection:
            body = json.dumps({"q": "the cat", "source": "en", "target": "de"})
            connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
            assert service.process.stdout.readline() == "begun\n"
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(60) in (0, 1)
    assert "the cat" not in (tmp_path / "log").read_text()


def test_open_connections_never_use_up_the_descriptors(model: Path, tmp_path: Path) -> None:
    """With 320 descriptors there are 104 connections and 24 for `/health` alone; others are closed at once."""
    shell = ["bash", "-c", 'ulimit -n 320; exec "$@"', "bash", *command(model)]
    with started(shell, tmp_path / "log") as service, ExitStack() as stack:
        for _ in range(400):
            stack.enter_context(closing(socket.create_connection(("127.0.0.1", service.port), timeout=60)))
        late = HTTPConnection("127.0.0.1", service.port, timeout=60)
        with closing(late), suppress(OSError, HTTPException):  # one too many
            late.request("GET", "/languages")
            assert late.getresponse().status == 503
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) == 0
    assert len((tmp_path / "log").read_text()) < 10_000
