"""Who asks, and how often: API keys, and an allowance of requests a minute for each client."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address, ip_address
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from pellucid.errors import Problem, UserError

MOST_CLIENTS = 10_000  # remembered; the one not seen for longest is forgotten first


class Client(NamedTuple):
    """Whose allowance a request is counted against, and how many requests a minute that is."""

    name: str
    req_limit: int


class ApiKeys:
    """Keys, kept as digests, and the requests a minute of those that have a number of their own."""

    def __init__(self, limits: Mapping[str, int | None]) -> None:
        self._known = [(_digest(key), limit) for key, limit in limits.items()]

    @classmethod
    def read(cls, path: Path) -> ApiKeys:
        """A key a line, and after it, if it has one, its requests a minute. After # comes a comment."""
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UserError(f"cannot be read: {reason}", str(path), "give a text file, one key a line") from None
        limits: dict[str, int | None] = {}
        problems = []
        for number, line in enumerate(lines, 1):
            words = list(takewhile(lambda word: not word.startswith("#"), line.split()))
            if not words:
                continue
            key, *rest = words
            if key in limits:
                problems.append(Problem("the key is there already", f"{path}:{number}", "delete one"))
            elif len(rest) > 1 or not all(word.isascii() and word.isdigit() for word in rest):
                problems.append(Problem("not a key and a number", f"{path}:{number}", "write KEY or KEY 60"))
            else:
                limits[key] = int(rest[0]) if rest else None
        if not limits and not problems:
            problems.append(Problem("there is no key in it", str(path), "write one key a line"))
        if problems:
            raise UserError(problems)
        return cls(limits)

    def client(self, key: str, req_limit: int) -> Client | None:
        """Whose key it is. Every key is compared, whole: how long that takes tells nothing about any of them."""
        given, found = _digest(key), None
        for digest, limit in self._known:
            if hmac.compare_digest(digest, given):
                found = Client(digest.hex(), req_limit if limit is None else limit)
        return found


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def network(address: str) -> str:
    """The client behind an address: a household has one IPv4 address, and 2^64 IPv6 addresses."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:  # how a socket of both kinds shows IPv4
        return str(parsed.ipv4_mapped)
    return parsed.exploded[:19] if isinstance(parsed, IPv6Address) else str(parsed)


class Allowance:
    """A minute's worth of requests for each client, refilled steadily. A large request may be paid off afterwards."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._balances: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, at a time

    def wait(self, client: Client) -> float:
        """Seconds until the client may ask again; 0: now."""
        if client.req_limit < 0:
            return 0
        missing = 1 - self._balance(client)
        return max(0, missing) * 60 / client.req_limit if client.req_limit else 60

    def spend(self, client: Client, requests: float) -> None:
        if client.req_limit < 0:
            return
        self._balances[client.name] = self._balance(client) - requests, self._clock()
        self._balances.move_to_end(client.name)
        while len(self._balances) > MOST_CLIENTS:
            self._balances.popitem(last=False)

    def _balance(self, client: Client) -> float:
        now = self._clock()
        balance, then = self._balances.get(client.name, (client.req_limit, now))
        return min(client.req_limit, balance + (now - then) * client.req_limit / 60)
