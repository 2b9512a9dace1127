"""The application: the routes, the page, the errors and the middleware."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from pellucid.config import ServeConfig
from pellucid.decode.translator import Translator
from pellucid.errors import UserError
from pellucid.serve.api import labs, learning, libretranslate, native, worked
from pellucid.serve.api.openapi import ApiRoute, document
from pellucid.serve.middleware import RequestMiddleware, SafeJSONResponse, error_response
from pellucid.serve.prometheus import CONTENT_TYPE
from pellucid.serve.service import Service, service_of
from pellucid.web.bundle import STATIC as PAGE

# Starlette's error for an unknown path or method -> a message with a remedy.
UNKNOWN = {
    (404, "Not Found"): "there is nothing at this path: /spec lists what there is",
    (405, "Method Not Allowed"): "this path takes another method: /spec says which",
}


def create_app(translator: Translator, config: ServeConfig | None = None) -> Starlette:
    """The service for one model, for any ASGI server."""
    config = config or ServeConfig()
    service = Service(translator, config)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    own = [ApiRoute("/metrics", metrics, "Metrics of the service, for Prometheus"), Route("/spec", spec)]
    app = Starlette(
        routes=[*libretranslate.ROUTES, *native.ROUTES, *learning.ROUTES, *worked.ROUTES, *labs.ROUTES, *own],
        exception_handlers={HTTPException: _error, UserError: _error},
        lifespan=lifespan,
    )
    app.state.service = service
    app.router.redirect_slashes = False
    if (PAGE / "index.html").is_file() and not config.disable_web_ui:
        app.add_route("/", index)
        app.mount("/static", StaticFiles(directory=PAGE))
    if config.cors_origin:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[config.cors_origin],
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type"],
        )
    app.add_middleware(RequestMiddleware, config=config, metrics=service.metrics)
    return app


async def index(_: Request) -> Response:
    return FileResponse(PAGE / "index.html")


async def spec(request: Request) -> Response:
    return SafeJSONResponse(document(request.app.routes))


async def metrics(request: Request) -> Response:
    service = service_of(request)
    token, given = service.config.metrics_auth_token, request.headers.get("authorization", "")
    if token is not None and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise HTTPException(401, "a bearer token is needed", {"WWW-Authenticate": "Bearer"})
    return Response(service.metrics.text(), media_type=CONTENT_TYPE)


async def _error(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return error_response(400, str(error))
    text = UNKNOWN.get((error.status_code, error.detail), error.detail)
    return error_response(error.status_code, text, dict(error.headers or {}))
