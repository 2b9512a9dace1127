"""What 32 clients get out of the service, compared with one.

Both are measured in turns against the same server process, so that whatever else the machine does falls on both; the
ratio of the two is the number to look at. Texts are made of words that the tokenizer of the model knows, or read from a
file.

    python benchmarks/serve_load.py --model runs/mine --seconds 5 --rounds 4
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

CLIENTS = 32
WORDS = 12  # of a text, on average


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-de", help="a model by name or directory")
    parser.add_argument("--texts", type=Path, help="a file of texts, one per line; default: random ones")
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=4, help="measurements of one client and of many, in turns")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    options = parser.parse_args()

    texts = options.texts.read_text(encoding="utf-8").splitlines() if options.texts else made_up(options.model)
    with service(options.model) as port:
        [source, *_] = [each for each in languages(port) if each["targets"]]
        direction = {"source": source["code"], "target": source["targets"][0]}
        texts_of = Texts(texts, direction)
        load(port, texts_of, CLIENTS, seconds=1)  # warm-up
        rounds = []
        for number in range(options.rounds):
            order = (1, CLIENTS) if number % 2 else (CLIENTS, 1)
            rounds.append({clients: load(port, texts_of, clients, options.seconds) for clients in order})
    report(rounds, options.json)


def made_up(model: str) -> list[str]:
    """Texts of words that the model has seen, of different lengths, always the same."""
    from pellucid.model_directory import ModelDirectory

    tokenizer = ModelDirectory.find(model).tokenizers.source
    pieces = tokenizer.readable(range(len(tokenizer)))
    words = [piece[1:] for piece in pieces if piece.startswith("▁") and piece[1:].isalpha() and len(piece) > 3]
    draw = random.Random(1)
    return [" ".join(draw.choices(words or ["word"], k=draw.randint(3, 2 * WORDS - 3))) + "." for _ in range(5000)]


class Texts:
    """A request body at a time, each another text."""

    def __init__(self, texts: list[str], direction: dict[str, str]) -> None:
        self._texts, self._direction = texts, direction
        self._next = 0
        self._lock = threading.Lock()

    def body(self) -> str:
        with self._lock:
            text = self._texts[self._next % len(self._texts)]
            self._next += 1
        return json.dumps({"q": text, **self._direction})


@contextmanager
def service(model: str) -> Iterator[int]:
    command = [sys.executable, "-m", "pellucid", "serve", "--model", model, "--port", "0", "--req-limit", "-1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        found = re.search(r":(\d+)$", process.stdout.readline().strip())
        if not found:
            raise SystemExit("the service did not start")
        try:
            yield int(found[1])
        finally:
            process.terminate()


def languages(port: int) -> list[dict[str, Any]]:
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", "/languages")
        answer: list[dict[str, Any]] = json.loads(connection.getresponse().read())
        return answer


def load(port: int, texts: Texts, clients: int, seconds: float) -> tuple[float, list[float]]:
    """Requests a second of so many clients together, and how long each took."""
    end = time.perf_counter() + seconds
    times: list[list[float]] = [[] for _ in range(clients)]

    def ask(mine: list[float]) -> None:
        with closing(HTTPConnection("127.0.0.1", port, timeout=120)) as connection:
            while (start := time.perf_counter()) < end:
                connection.request("POST", "/translate", texts.body(), {"Content-Type": "application/json"})
                response = connection.getresponse()
                response.read()
                if response.status != 200:
                    raise SystemExit(f"the service answered {response.status}")
                mine.append(time.perf_counter() - start)

    start = time.perf_counter()
    threads = [threading.Thread(target=ask, args=(mine,)) for mine in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = [seconds for mine in times for seconds in mine]
    return len(taken) / (time.perf_counter() - start), taken


def report(rounds: list[dict[int, tuple[float, list[float]]]], as_json: bool) -> None:
    rates = {clients: [each[clients][0] for each in rounds] for clients in (1, CLIENTS)}
    times = {clients: sorted(t for each in rounds for t in each[clients][1]) for clients in (1, CLIENTS)}
    ratios = [each[CLIENTS][0] / each[1][0] for each in rounds]
    numbers = {
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        **{
            f"clients_{clients}": {
                "requests_a_second": statistics.median(rates[clients]),
                "milliseconds_median": 1000 * statistics.median(times[clients]),
                "milliseconds_95": 1000 * times[clients][int(0.95 * (len(times[clients]) - 1))],
            }
            for clients in (1, CLIENTS)
        },
    }
    if as_json:
        print(json.dumps(numbers, indent=2))
        return
    print(f"{'clients':>8} {'requests/s':>11} {'median ms':>10} {'95% ms':>8}")
    for clients in (1, CLIENTS):
        row = numbers[f"clients_{clients}"]
        assert isinstance(row, dict)
        print(
            f"{clients:>8} {row['requests_a_second']:>11.1f} {row['milliseconds_median']:>10.1f} "
            f"{row['milliseconds_95']:>8.1f}"
        )
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"{CLIENTS} clients get {statistics.median(ratios):.2f} times what one gets (rounds: {each})")


if __name__ == "__main__":
    main()
