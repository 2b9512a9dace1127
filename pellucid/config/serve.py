"""The settings of the HTTP service. Where LibreTranslate has a flag of the same meaning, the name is the same."""

from __future__ import annotations

from collections.abc import Iterator

from pellucid.errors import Problem
from pellucid.fields import Config, setting


class ServeConfig(Config):
    """The limits of a request and of the service. -1 lifts a limit, where it can be lifted."""

    char_limit: int = setting(10_000, "maximum characters per request, over all its texts", minimum=-1)
    bytes_limit: int = setting(262_144, "maximum bytes of a request's body", minimum=-1)
    batch_limit: int = setting(100, "maximum texts per request", minimum=-1)
    beam_limit: int = setting(10, "maximum beam size", minimum=-1)
    alternatives_limit: int = setting(5, "maximum alternatives per text", minimum=-1)
    output_limit: int = setting(1024, "maximum tokens of a translated sentence", minimum=-1)
    search_limit: int = setting(
        131_072, "maximum tokens searched per request: hypotheses × maximum length, over all its sentences", minimum=-1
    )
    req_limit: int = setting(600, "maximum requests per minute and client; each text of a list counts", minimum=-1)
    req_time_cost: float = setting(
        0.1, "CPU seconds that count as one request, where that is more than its texts; -1: off", minimum=-1
    )
    queue_limit: int = setting(256, "maximum requests queued or in progress", minimum=1)
    connection_limit: int = setting(
        256, "maximum connections of a client at a time, unless --forwarded-allow-ips names a proxy", minimum=-1
    )
    ipv6_prefix: int = setting(
        64, "leading bits of an IPv6 address that make a client, such as 48", minimum=16, maximum=128
    )
    timeout: float = setting(60.0, "seconds after which a request is aborted", minimum=0.01)
    grace_period: float = setting(
        20.0, "seconds that accepted requests have to finish after SIGTERM; 10 s later the process ends", minimum=0
    )
    lab_timeout: float = setting(
        300.0,
        "seconds after which a lab that was started from the page is aborted; 0: labs cannot be started",
        minimum=0,
    )
    threads: int | None = setting(None, "batches translated at the same time; default: cores + 1", minimum=1)
    api_keys: str | None = setting(None, "file of API keys, one per line: KEY, or KEY 60 for a req_limit of its own")
    metrics_auth_token: str | None = setting(None, "bearer token that /metrics requires")
    cors_origin: str | None = setting(
        None, "origin whose pages may call the service from a browser, or *; default: its own page only"
    )
    disable_web_ui: bool = setting(False, "serve the API without the page")

    def conflicts(self) -> Iterator[Problem]:
        if 0 <= self.beam_limit <= self.alternatives_limit:
            what = f"{self.alternatives_limit} alternatives need a beam of {self.alternatives_limit + 1}"
            yield Problem(what, "alternatives_limit", f"at most {self.beam_limit - 1}, or raise beam_limit")


def exceeds(amount: float, limit: float) -> bool:
    """Whether a limit is exceeded; -1 is no limit."""
    return 0 <= limit < amount
