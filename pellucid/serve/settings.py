"""The settings of the service. Where LibreTranslate has a flag of the same meaning, the name is the same."""

from __future__ import annotations

from pellucid.errors import Problem
from pellucid.fields import Config, setting


class ServeConfig(Config):
    """What a request may ask for. -1 lifts a limit, where it can be lifted."""

    char_limit: int = setting(default=10_000, doc="characters of a request, over all its texts", least=-1)
    bytes_limit: int = setting(default=262_144, doc="bytes of a request's body", least=-1)
    batch_limit: int = setting(default=100, doc="texts of a request", least=-1)
    beam_limit: int = setting(default=10, doc="hypotheses a search keeps alive", least=-1)
    alternatives_limit: int = setting(default=5, doc="further translations of a text", least=-1)
    output_limit: int = setting(default=1024, doc="tokens of a translated sentence", least=-1)
    req_limit: int = setting(default=600, doc="requests a minute of one client; each text of a list counts", least=-1)
    req_time_cost: float = setting(
        default=-1.0, doc="seconds of work that count as one request, where that is more than its texts", least=-1
    )
    queue_limit: int = setting(default=256, doc="requests that wait or are worked on", least=1)
    timeout: float = setting(default=60.0, doc="seconds until a request is given up", least=0.01)
    threads: int | None = setting(default=None, doc="batches worked on at once; default: one a core", least=1)
    api_keys: str | None = setting(
        default=None,
        doc="file of API keys, one a line, each with its own req_limit if it has one",
    )
    metrics_auth_token: str | None = setting(default=None, doc="bearer token that /metrics asks for")
    cors_origin: str | None = setting(
        default=None, doc="origin whose pages may call the service from a browser, or *; without: none but its own"
    )
    disable_web_ui: bool = setting(default=False, doc="leave the page out, serve the API alone")

    def conflicts(self) -> list[Problem]:
        if 0 <= self.beam_limit <= self.alternatives_limit:
            what = f"{self.alternatives_limit} further translations need a beam of {self.alternatives_limit + 1}"
            return [Problem(what, "alternatives_limit", f"at most {self.beam_limit - 1}, or raise beam_limit")]
        return []


def over(amount: float, limit: float) -> bool:
    """Whether a limit is exceeded; -1 is none."""
    return 0 <= limit < amount
