from __future__ import annotations

import hmac
from pathlib import Path

import pytest

from pellucid.errors import UserError
from pellucid.serve import clients
from pellucid.serve.clients import ApiKeys, Client, RateLimiter, network


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_bucket_is_used_up_and_refilled_continuously() -> None:
    clock = Clock()
    limiter = RateLimiter(clock)
    ann, bob = Client("ann", 6), Client("bob", 6)
    for _ in range(6):
        assert limiter.retry_after(ann) == 0
        limiter.charge(ann, 1)
    assert limiter.retry_after(ann) == pytest.approx(10)  # one in ten seconds is six a minute
    assert limiter.retry_after(bob) == 0
    clock.now += 4
    assert limiter.retry_after(ann) == pytest.approx(6)
    clock.now += 6.001
    assert limiter.retry_after(ann) == 0
    clock.now += 3600
    for _ in range(6):  # an hour's rest saves no more than a minute's requests
        limiter.charge(ann, 1)
    assert limiter.retry_after(ann) > 0


def test_a_large_request_delays_the_next() -> None:
    clock = Clock()
    limiter = RateLimiter(clock)
    ann = Client("ann", 60)
    limiter.charge(ann, 100)
    assert limiter.retry_after(ann) == pytest.approx(41)
    clock.now += 41
    assert limiter.retry_after(ann) == pytest.approx(0, abs=1e-9)


def test_no_limit_and_a_limit_of_zero() -> None:
    limiter = RateLimiter(Clock())
    for _ in range(1000):
        limiter.charge(Client("ann", -1), 1)
    assert limiter.retry_after(Client("ann", -1)) == 0
    assert limiter.retry_after(Client("bob", 0)) > 0


def test_the_oldest_client_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "MAX_CLIENTS", 3)
    limiter = RateLimiter(Clock())
    for name in "abcad":
        limiter.charge(Client(name, 1), 1)
    assert [name for name in "abcd" if limiter.retry_after(Client(name, 1))] == ["a", "c", "d"]


def test_addresses() -> None:
    assert network("192.0.2.7") == "192.0.2.7"
    assert network("2001:db8::1") == network("2001:db8:0:0:ffff::2") != network("2001:db8:0:1::1")
    assert network("2001:db8:0:1::1", 48) == network("2001:db8:0:ffff::2", 48) != network("2001:db8:1::1", 48)
    assert network("testclient") == "testclient"
    assert network("::ffff:192.0.2.7") == "192.0.2.7"


def test_keys_are_read_with_their_limits(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("first\n# who\n\n  second 5 # slow\nthird 0\n", encoding="utf-8-sig")
    keys = ApiKeys.read(path)
    first, second, third = (keys.client(key, 60) for key in ("first", "second", "third"))
    assert first is not None
    assert second is not None
    assert third is not None
    assert [client.req_limit for client in (first, second, third)] == [60, 5, 0]
    assert len({first.name, second.name, third.name}) == 3
    assert "first" not in first.name
    for wrong in ("", "firs", "first ", "FIRST", "# who", "second 5", "\ud800"):
        assert keys.client(wrong, 60) is None


def test_every_key_is_compared_whole_whichever_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((len(a), len(b)))
        return a == b

    monkeypatch.setattr(hmac, "compare_digest", compare)
    keys = ApiKeys({"first": None, "second": None, "third": None})
    for given in ("first", "third", "no", "x" * 10_000):
        compared.clear()
        keys.client(given, 1)
        assert compared == [(32, 32)] * 3


def test_a_wrong_file_of_keys_is_reported_line_by_line_without_the_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("alpha\nbeta many\nalpha\ngamma 1 2\n", encoding="utf-8")
    with pytest.raises(UserError) as caught:
        ApiKeys.read(path)
    assert [problem.where for problem in caught.value.problems] == [f"{path}:{line}" for line in (2, 3, 4)]
    assert not any(key in str(caught.value) for key in ("alpha", "beta", "gamma"))
    path.write_text("# nobody\n", encoding="utf-8")
    with pytest.raises(UserError, match="no key"):
        ApiKeys.read(path)
    with pytest.raises(UserError, match="cannot be read"):
        ApiKeys.read(tmp_path / "nowhere")
