"""The connections of the service: how many there may be, and how long one may do nothing.

A connection costs a file descriptor whoever holds it. So there is a maximum for all (below what the process may open),
one for each client, a time for headers to arrive and one for answers to be read. A few connections beyond the maximum
are served `/health` and nothing else, so that a service under attack is not taken for a dead one.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from pellucid.serve.clients import network
from pellucid.serve.middleware import error_response

MAX_CONNECTIONS = 1000
RESERVED = 24  # beyond the maximum, for `/health`
BACKLOG = 128  # connections that are accepted at once
OTHER_DESCRIPTORS = 64  # of the model's files, the event loop, the log
HEADER_TIMEOUT = 30  # seconds for the headers of a request to arrive
RESERVED_TIMEOUT = 2  # the same for a reserved connection
WRITE_TIMEOUT = 30  # seconds for a client to read what waits to be sent


class ConnectionLimits(NamedTuple):
    total: int = MAX_CONNECTIONS
    per_client: int = -1
    ipv6_prefix: int = 64


def max_connections() -> int:
    """The maximum number of connections: fewer where the process may not open that many files."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return MAX_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = sys.maxsize if files == resource.RLIM_INFINITY else files
    return max(1, min(MAX_CONNECTIONS, files - RESERVED - BACKLOG - OTHER_DESCRIPTORS))


class Connection(H11Protocol):
    """A connection that is closed when it is one too many, or when its client neither asks nor reads."""

    limits = ConnectionLimits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        beyond = len(self.connections) - self.limits.total
        self._idle_seconds = RESERVED_TIMEOUT if beyond > 0 else HEADER_TIMEOUT
        self._write_timer: asyncio.TimerHandle | None = None
        self._start_timer()
        if beyond > RESERVED or (self.limits.per_client >= 0 and self._of_this_client() > self.limits.per_client):
            transport.abort()  # silently: a line for each would fill the log
        elif beyond > 0:
            self.app = only_health(self.app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._idle_timer.cancel()
        self._start_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(WRITE_TIMEOUT, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer:
            self._write_timer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle_timer.cancel()
        if self._write_timer:
            self._write_timer.cancel()
        super().connection_lost(exc)

    def _of_this_client(self) -> int:
        """The number of connections of this client."""
        client = self._client_name()
        return sum(isinstance(each, Connection) and each._client_name() == client for each in self.connections)

    def _client_name(self) -> str:
        return network(self.client[0], self.limits.ipv6_prefix) if self.client else ""

    def _start_timer(self) -> None:
        self._idle_timer = self.loop.call_later(self._idle_seconds, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()  # not close(), which would wait until the client has read everything


def with_limits(limits: ConnectionLimits) -> type[Connection]:
    """The class of connections with these limits."""
    return type("Connection", (Connection,), {"limits": limits})


def only_health(app: Any) -> ASGIApp:
    """An application that answers `/health` and turns everything else away."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health":
            refuse = error_response(
                503, "too many connections: try again soon", {"Retry-After": "1", "Connection": "close"}
            )
            await refuse(scope, receive, send)
        else:
            await app(scope, receive, send)

    return answer
