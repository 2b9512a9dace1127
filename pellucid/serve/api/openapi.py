"""The OpenAPI document, made from the routes and the declared bodies of their requests."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pellucid.serve.requests import Body

Endpoint = Callable[[Request], Awaitable[Response]]


class ApiRoute(Route):
    """A route that the document describes: POST if it takes a body, else GET."""

    def __init__(
        self, path: str, endpoint: Endpoint, summary: str, body: type[Body] | None = None, tag: str | None = None
    ) -> None:
        super().__init__(path, endpoint, methods=["POST" if body else "GET"])
        self.summary, self.body, self.tag = summary, body, tag

    def operation(self) -> dict[str, Any]:
        """Method -> its description."""
        method = "post" if self.body else "get"
        answer = {"description": "Successful Response", "content": {"application/json": {"schema": {}}}}
        operation: dict[str, Any] = {
            "summary": self.summary,
            "operationId": re.sub(r"\W", "_", f"{self.name}{self.path}_{method}"),
            "responses": {"200": answer},
        }
        if self.tag:
            operation["tags"] = [self.tag]
        if self.body:
            content = {kind: {"schema": _schema(self.body)} for kind in self.body.MEDIA_TYPES}
            operation["requestBody"] = {"required": True, "content": content}
        return {method: operation}


def _schema(body: type[Body]) -> dict[str, Any]:
    settings = body.settings().values()
    return {
        "type": "object",
        "required": [each.name for each in settings if each.required],
        "properties": {each.name: each.json_schema() for each in settings},
    }


def document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """The OpenAPI document of the routes that are `ApiRoute`s."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if isinstance(route, ApiRoute):
            paths.setdefault(route.path, {}).update(route.operation())
    info = {
        "title": "Pellucid",
        "description": "Translation by one model, with LibreTranslate's API and one of its own.",
        "version": version("pellucid"),
    }
    return {"openapi": "3.1.0", "info": info, "paths": paths}
