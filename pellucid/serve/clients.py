"""API keys, and the rate limit of each client."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address, ip_address, ip_network
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from pellucid.errors import Problem, UserError

MAX_CLIENTS = 10_000  # whose requests are counted; the one not seen for longest is dropped first


class Client(NamedTuple):
    """Who a request is counted for, and how many requests per minute are allowed."""

    name: str
    req_limit: int


class ApiKeys:
    """The keys, stored as digests, with the requests per minute of those that have a limit of their own."""

    def __init__(self, limits: Mapping[str, int | None]) -> None:
        self._known = [(_digest(key), limit) for key, limit in limits.items()]

    @classmethod
    def read(cls, path: Path) -> ApiKeys:
        """One key per line, optionally followed by its requests per minute; # begins a comment."""
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UserError(f"cannot be read: {reason}", str(path), "give a text file with one key per line") from None
        limits: dict[str, int | None] = {}
        problems = []
        for number, line in enumerate(lines, 1):
            match list(takewhile(lambda word: not word.startswith("#"), line.split())):
                case []:
                    pass
                case [key, *_] if key in limits:
                    problems.append(Problem("the key occurs twice", f"{path}:{number}", "delete one"))
                case [key]:
                    limits[key] = None
                case [key, limit] if limit.isascii() and limit.isdigit():
                    limits[key] = int(limit)
                case _:
                    problems.append(Problem("not a key and a number", f"{path}:{number}", "write KEY or KEY 60"))
        if not limits and not problems:
            problems.append(Problem("contains no key", str(path), "write one key per line"))
        if problems:
            raise UserError(problems)
        return cls(limits)

    def client(self, key: str, req_limit: int) -> Client | None:
        """The client with this key. Every digest is compared in constant time, so the time reveals nothing."""
        given = _digest(key)
        limits = [limit for digest, limit in self._known if hmac.compare_digest(digest, given)]
        return Client(given.hex(), req_limit if limits[0] is None else limits[0]) if limits else None


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def network(address: str, ipv6_prefix: int = 64) -> str:
    """The client behind an address: an IPv4 address, or the first bits of an IPv6 address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:  # how a dual-stack socket shows IPv4
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, ipv6_prefix), strict=False)) if isinstance(parsed, IPv6Address) else str(parsed)


class RateLimiter:
    """A token bucket per client. It holds a minute's worth of requests and is refilled continuously. A request may take
    more than it holds; the next request then waits until that is refilled. Any thread may charge a client."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, at a time

    def retry_after(self, client: Client) -> float:
        """Seconds until the client's next request is allowed; 0: it is allowed now."""
        if client.req_limit < 0:
            return 0
        return max(0, 1 - self._left(client)) * 60 / client.req_limit if client.req_limit else 60

    def charge(self, client: Client, requests: float) -> None:
        if client.req_limit < 0:
            return
        with self._lock:
            self._buckets[client.name] = self._left(client) - requests, self._clock()
            self._buckets.move_to_end(client.name)
            while len(self._buckets) > MAX_CLIENTS:
                self._buckets.popitem(last=False)

    def _left(self, client: Client) -> float:
        now = self._clock()
        left, then = self._buckets.get(client.name, (client.req_limit, now))
        return min(client.req_limit, left + (now - then) * client.req_limit / 60)
