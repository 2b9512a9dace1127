"""The service as a process: a socket, a server, and a shutdown that finishes the accepted requests."""

from __future__ import annotations

import faulthandler
import logging
import signal
import socket
import sys
from math import ceil

import uvicorn

from pellucid.config import ServeConfig
from pellucid.decode.translator import Translator
from pellucid.errors import UserError
from pellucid.serve.app import create_app
from pellucid.serve.connections import BACKLOG, ConnectionLimits, max_connections, with_limits
from pellucid.serve.log import RedactedFormatter, Throttle

HARD_EXIT = 10  # seconds after the grace period


def run(
    translator: Translator, config: ServeConfig, host: str, port: int, forwarded_allow_ips: str | None = None
) -> None:
    """Serve until SIGINT or SIGTERM. Port 0 is any free port; the line that is printed says which."""
    listener = listen(host, port)
    _configure_logging()
    # Behind a proxy all clients have its address.
    per_client = -1 if forwarded_allow_ips is not None else config.connection_limit
    limits = ConnectionLimits(max_connections(), per_client, config.ipv6_prefix)
    server = Server(
        uvicorn.Config(
            create_app(translator, config),
            http=with_limits(limits),
            backlog=BACKLOG,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,  # it contains queries, which may be text
            server_header=False,
            proxy_headers=forwarded_allow_ips is not None,
            forwarded_allow_ips=forwarded_allow_ips,
            timeout_graceful_shutdown=ceil(config.grace_period),
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


class Server(uvicorn.Server):
    """A server that ends its process some time after it was asked to stop, whatever a search may still be doing."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        seconds = (self.config.timeout_graceful_shutdown or 0) + HARD_EXIT
        # A watchdog without Python: it prints where every thread is (functions, not values) and ends with status 1.
        faulthandler.dump_traceback_later(seconds, exit=True)
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
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
    handler.addFilter(Throttle())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("pellucid.serve", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)
