"""The most memory that `pellucid serve` ever held with the model that ships, after some hundred requests.

A real server process, clients in parallel, the peak as Linux counts it (VmHWM).

    python -m benchmarks.serving_memory --data DIR
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection

from benchmarks.drawing import publish
from benchmarks.harness import Goal, Report, Spread, options, spread
from benchmarks.peers.memory import peak_mb
from benchmarks.translators import DIRECTION, sentences
from pellucid.errors import UserError

REQUESTS, CLIENTS = 200, 8
BAR = 250.0  # MB


@contextmanager
def service() -> Iterator[tuple[int, int]]:
    """The process and the port of a service."""
    command = [sys.executable, "-m", "pellucid", "serve", "--port", "0", "--req-limit", "-1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+)\s*$", process.stdout.readline())
            if not found:
                raise UserError("did not start", "pellucid serve")
            yield process.pid, int(found[1])
        finally:
            process.kill()


def ask(port: int, texts: Sequence[str]) -> None:
    with closing(HTTPConnection("127.0.0.1", port, timeout=600)) as connection:
        for text in texts:
            body = json.dumps({"q": text, "source": DIRECTION[0], "target": DIRECTION[1]})
            connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                raise UserError(f"answered {response.status}", "pellucid serve")


def measure(texts: Sequence[str]) -> tuple[float, float]:
    """The peak before anything was asked but one sentence, and after all."""
    with service() as (process, port):
        ask(port, texts[:1])
        first = peak_mb(process)
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda number: ask(port, texts[number::CLIENTS]), range(CLIENTS)))
        return first, peak_mb(process)


def main() -> None:
    arguments = options(__doc__, rounds=3).parse_args()
    texts, _ = sentences(arguments.data, 20 if arguments.quick else REQUESTS)
    peaks = [measure(texts) for _ in range(1 if arguments.quick else arguments.rounds)]
    spreads: dict[str, Spread] = {
        "after one request": spread([first for first, _ in peaks]),
        f"after {len(texts)} requests": spread([last for _, last in peaks]),
    }
    [*_, last] = spreads.values()
    title = "Peak memory of pellucid serve"
    rows = [[name, f"{each:.0f}"] for name, each in spreads.items()]
    goals = [Goal(title, last, BAR, unit="MB", less_is_better=True)]
    report = Report("serving_memory", title, ["when", "MB"], rows, {"mb": spreads, "clients": CLIENTS}, goals)
    publish(report, arguments, {f"pellucid, {name}": each for name, each in spreads.items()}, "MB")


if __name__ == "__main__":
    main()
