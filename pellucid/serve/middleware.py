"""What applies to every request: the limit on the size of its body, the security headers, the metrics and the log.

The log never contains a text. A path, a query or the message of an error may be one, so a line of the log has the route
instead of the path, and an error is logged by its type and the place where it was raised.
"""

from __future__ import annotations

import json
import logging
from time import perf_counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pellucid.config.serve import ServeConfig, exceeds
from pellucid.serve.log import location
from pellucid.serve.prometheus import ServiceMetrics

log = logging.getLogger("pellucid.serve")

CLIENT_CLOSED_REQUEST = 499  # the client disconnected before the answer; only the log and the metrics show this status
SERVER_ERROR = "something went wrong on the server"

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SafeJSONResponse(JSONResponse):
    """JSON that can always be encoded: an unpaired surrogate, which UTF-8 cannot represent, becomes a question mark."""

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def error_response(status: int, text: str, headers: dict[str, str] | None = None) -> SafeJSONResponse:
    return SafeJSONResponse({"error": text}, status, headers)


class RequestMiddleware:
    def __init__(self, app: ASGIApp, config: ServeConfig, metrics: ServiceMetrics) -> None:
        self._app, self._config, self._metrics = app, config, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = perf_counter(), 0
        headers = Headers(scope=scope)
        ambiguous = "content-length" in headers and "transfer-encoding" in headers

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                # A file, which has an ETag, may be stored and revalidated. A translation is never stored.
                headers.setdefault("Cache-Control", "no-cache" if "etag" in headers else "no-store")
            await send(message)

        try:
            if ambiguous:  # a proxy in front may believe the other, and take a body for a request
                refuse = error_response(400, "both Content-Length and Transfer-Encoding", {"Connection": "close"})
                await refuse(scope, receive, send_with_headers)
            else:
                await self._app(scope, self._limited(scope, receive), send_with_headers)
        except ClientDisconnect:
            status = CLIENT_CLOSED_REQUEST
        except Exception as error:
            log.error("%s", location(error))
            if not status:
                await error_response(500, SERVER_ERROR)(scope, receive, send_with_headers)
        finally:
            endpoint = getattr(scope.get("route"), "path", "") or "other"
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "other"
            seconds = perf_counter() - start
            self._metrics.requests.labels(endpoint, str(status)).inc()
            self._metrics.seconds.observe(seconds)
            log.info("%s %s %d %.0f ms", method, endpoint, status, 1000 * seconds)

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """`receive`, refusing a body as soon as it is known to be too large, before it is in memory."""
        limit = self._config.bytes_limit
        announced = Headers(scope=scope).get("content-length", "")
        size = 0
        too_large = HTTPException(413, f"the body is larger than {limit} bytes", {"Connection": "close"})

        async def receive_limited() -> Message:
            nonlocal size
            if announced.isdigit() and exceeds(int(announced), limit):
                raise too_large
            message = await receive()
            size += len(message.get("body", b""))
            if exceeds(size, limit):
                raise too_large
            return message

        return receive_limited
