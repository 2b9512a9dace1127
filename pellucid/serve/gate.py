"""What every request passes: the limit of bytes, the headers, the count, the log. The log never has a text in it.

A path or a query may be text, and so may the message of an error: a line of the log has the route instead of the path,
and an error is logged by its type and the place it was raised at.
"""

from __future__ import annotations

import json
import logging
import traceback
from time import perf_counter
from typing import Any

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pellucid.config.serve import ServeConfig, exceeds
from pellucid.serve.metrics import Metrics

log = logging.getLogger("pellucid.serve")

GONE = 499  # the client left before the answer; nobody sees this but the log

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Json(JSONResponse):
    """JSON that can always be written: half a surrogate pair, which is no character, becomes a question mark."""

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def error(status: int, text: str, headers: dict[str, str] | None = None) -> Json:
    return Json({"error": text}, status, headers)


class Gate:
    def __init__(self, app: ASGIApp, config: ServeConfig, metrics: Metrics) -> None:
        self._app, self._config, self._metrics = app, config, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # HEAD is answered as GET would be; the server leaves the body out.
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        start, status = perf_counter(), 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                # What has a tag may be kept, and asked about again; translations are kept nowhere.
                headers.setdefault("Cache-Control", "no-cache" if "etag" in headers else "no-store")
            await send(message)

        try:
            await self._app(asked, self._limited(scope, receive), send_on)
        except ClientDisconnect:
            status = GONE
        except Exception as fault:
            log.error("%s", where(fault))
            if not status:
                await error(500, "something went wrong on the server")(scope, receive, send_on)
        finally:
            endpoint = getattr(asked.get("route"), "path", "") or "other"
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "other"
            seconds = perf_counter() - start
            self._metrics.requests.add(1, endpoint, str(status))
            self._metrics.seconds.observe(seconds)
            log.info("%s %s %d %.0f ms", method, endpoint, status, 1000 * seconds)

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """`receive` that refuses a body as soon as it is known to be too large, before it is in memory."""
        limit = self._config.bytes_limit
        announced = Headers(scope=scope).get("content-length", "")
        size = 0
        too_large = HTTPException(413, f"the body is larger than {limit} bytes", {"Connection": "close"})

        async def receive_some() -> Message:
            nonlocal size
            if announced.isdigit() and exceeds(int(announced), limit):
                raise too_large
            message = await receive()
            size += len(message.get("body", b""))
            if exceeds(size, limit):
                raise too_large
            return message

        return receive_some


def where(fault: BaseException) -> str:
    """The type of an error and where it was raised, without its message."""
    frames = traceback.extract_tb(fault.__traceback__)[-6:]
    places = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return f"{type(fault).__name__} at {places}"


class Discreet(logging.Formatter):
    """A format for the logs of other libraries, which print an error with its message."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 the name is the standard library's
        return where(ei[1]) if ei[1] else ""
