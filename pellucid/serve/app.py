"""The application: endpoints, the page, and the gate before them."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI, HTTPException, Request
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from pellucid.decode.translator import Translator
from pellucid.errors import UserError
from pellucid.serve import api, libretranslate, worked
from pellucid.serve.gate import Gate, error
from pellucid.serve.metrics import CONTENT_TYPE
from pellucid.serve.service import Service
from pellucid.serve.settings import ServeConfig
from pellucid.web.bundle import STATIC as PAGE

# What the library says of a path or a method it does not know, and what helps.
UNKNOWN = {
    (404, "Not Found"): "there is nothing at this path: /spec lists what there is",
    (405, "Method Not Allowed"): "this path takes another method: /spec says which",
}


def create_app(translator: Translator, config: ServeConfig | None = None) -> FastAPI:
    """The service over one model, for any ASGI server."""
    config = config or ServeConfig()
    service = Service(translator, config)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="Pellucid",
        version=version("pellucid"),
        description="Translation by one model, with LibreTranslate's API and one of its own.",
        openapi_url="/spec",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.include_router(libretranslate.routes(service))
    app.include_router(api.routes(service))
    app.include_router(worked.routes(service))
    _add_metrics(app, service)
    _add_errors(app)
    if (PAGE / "index.html").is_file() and not config.disable_web_ui:
        _add_page(app)
    if config.cors_origin:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[config.cors_origin],
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type"],
        )
    app.add_middleware(Gate, config=config, metrics=service.metrics)
    return app


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return FileResponse(PAGE / "index.html")

    app.mount("/static", StaticFiles(directory=PAGE))


def _add_metrics(app: FastAPI, service: Service) -> None:
    token = service.config.metrics_auth_token

    @app.get("/metrics", summary="Numbers about the service, for Prometheus")
    async def metrics(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if token is not None and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            raise HTTPException(401, "a bearer token is needed", {"WWW-Authenticate": "Bearer"})
        return PlainTextResponse(service.metrics.text(), media_type=CONTENT_TYPE)


def _add_errors(app: FastAPI) -> None:
    """Every error is {"error": text}."""

    @app.exception_handler(AnyHTTPException)
    async def refused(_request: Request, fault: AnyHTTPException) -> Response:
        text = UNKNOWN.get((fault.status_code, fault.detail), fault.detail)
        return error(fault.status_code, text, dict(fault.headers or {}))

    @app.exception_handler(UserError)
    async def wrong(_request: Request, fault: UserError) -> Response:
        return error(400, str(fault))
