"""The service as a process: a socket, a server, and an end that finishes what was accepted."""

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
from pellucid.serve.gate import Discreet

MOST_CONNECTIONS = 1000
HEAD_SECONDS = 30  # for the head of a request to arrive


def run(
    translator: Translator, config: ServeConfig, host: str, port: int, forwarded_allow_ips: str | None = None
) -> None:
    """Serve until SIGINT or SIGTERM. Port 0 is any free one; the line that is printed says which."""
    listener = listen(host, port)
    _log()
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(translator, config),
            http=Prompt,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,  # it would write queries down, and they may be text
            server_header=False,
            proxy_headers=forwarded_allow_ips is not None,
            forwarded_allow_ips=forwarded_allow_ips,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=int(config.timeout) + 5,
        )
    )

    def end(*_: object) -> None:
        server.should_exit = True

    # For a signal that comes before the server listens to them, and for the one it raises again when all is done: to
    # have been asked to end is no failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    shown = f"[{host}]" if ":" in host else host
    print(f"Pellucid listens on http://{shown}:{listener.getsockname()[1]}", flush=True)
    server.run(sockets=[listener])


class Prompt(H11Protocol):
    """HTTP that waits for the head of a request only so long: connections that say nothing, or too little, would
    otherwise fill the server up."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._waiting.cancel()
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting.cancel()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._waiting = self.loop.call_later(HEAD_SECONDS, self._close_unless_asked)

    def _close_unless_asked(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
        # asyncio sends without delay only over sockets that say they are TCP; else each answer waits some 40 ms.
        return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, listener.detach())
    except OverflowError:
        raise UserError("is no port", f"{host}:{port}", "give a --port from 0 to 65535") from None
    except OSError as fault:
        reason, _, _ = (fault.strerror or str(fault)).partition(" (while")  # the address is told before it
        raise UserError(f"cannot listen there: {reason}", f"{host}:{port}", "choose another --port or --host") from None


def _log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Discreet("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("pellucid.serve", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)
