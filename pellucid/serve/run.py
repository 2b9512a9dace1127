"""The service as a process: a socket, a server, and a shutdown that finishes the accepted requests."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pellucid.config import ServeConfig
from pellucid.decode.translator import Translator
from pellucid.errors import UserError
from pellucid.serve.app import create_app
from pellucid.serve.middleware import RedactedFormatter

MAX_CONNECTIONS = 1000
HEADER_TIMEOUT = 30  # seconds for the headers of a request to arrive


def run(
    translator: Translator, config: ServeConfig, host: str, port: int, forwarded_allow_ips: str | None = None
) -> None:
    """Serve until SIGINT or SIGTERM. Port 0 is any free port; the line that is printed says which."""
    listener = listen(host, port)
    _configure_logging()
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(translator, config),
            http=HeaderTimeout,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,  # it contains queries, which may be text
            server_header=False,
            proxy_headers=forwarded_allow_ips is not None,
            forwarded_allow_ips=forwarded_allow_ips,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=int(config.timeout) + 5,
        )
    )

    def stop(*_: object) -> None:
        server.should_exit = True

    # For a signal that arrives before the server handles them, and for the one that it raises again after the shutdown:
    # to be asked to stop is not a failure, so the process exits with 0.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    shown = f"[{host}]" if ":" in host else host
    print(f"Pellucid listens on http://{shown}:{listener.getsockname()[1]}", flush=True)
    server.run(sockets=[listener])


class HeaderTimeout(H11Protocol):
    """HTTP that closes a connection whose next request headers do not arrive in time: it would occupy a slot."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._timer.cancel()
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADER_TIMEOUT, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
        # asyncio sets TCP_NODELAY only on sockets whose protocol is TCP; without it an answer may wait some 40 ms.
        return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, listener.detach())
    except OverflowError:
        raise UserError("not a port number", f"{host}:{port}", "give a --port from 0 to 65535") from None
    except OSError as fault:
        reason, _, _ = (fault.strerror or str(fault)).partition(" (while")  # it repeats the address
        raise UserError(f"cannot listen there: {reason}", f"{host}:{port}", "choose another --port or --host") from None


def _configure_logging() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactedFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("pellucid.serve", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)
