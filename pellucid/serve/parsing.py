"""The parameters of a request as a dictionary, from its query and its body: JSON, or either kind of form."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NoReturn
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

MAX_FIELDS = 1000  # of a form or a query
BODY_TIMEOUT = 30  # seconds for a body to arrive


async def read_json(request: Request) -> dict[str, Any]:
    """The body, which is a JSON object whatever its Content-Type says."""
    return _json(await _body(request))


async def read_parameters(request: Request) -> dict[str, Any]:
    """The fields of the query and the body, whose values win. A field given several times in a form is a list."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        query = _urlencoded(request.url.query)
        body = await _body(request)
        if not body:
            return query
        if kind == "application/json" or kind.endswith("+json"):
            return query | _json(body)
        if kind == "application/x-www-form-urlencoded":
            return query | _urlencoded(body.decode("utf-8"))
        if kind == "multipart/form-data":
            body.decode("utf-8")  # Starlette would read other bytes as Latin-1
            form = await request.form(max_files=0, max_fields=MAX_FIELDS, max_part_size=len(body))
            return query | _single({name: form.getlist(name) for name in form})
    except UnicodeDecodeError:
        raise HTTPException(400, "a field is not text in UTF-8") from None
    raise HTTPException(415, "the body is neither JSON nor a form: say which in Content-Type")


async def _body(request: Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            return await request.body()
    except TimeoutError:
        message = f"the body took longer than {BODY_TIMEOUT} s to arrive"
        raise HTTPException(408, message, {"Connection": "close"}) from None


def _json(body: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> NoReturn:  # NaN and Infinity, which Python would accept
        raise ValueError(f"{constant} is not JSON")

    try:
        values = json.loads(body.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not valid JSON in UTF-8") from None
    if not isinstance(values, dict):
        raise HTTPException(400, "the body is not a JSON object")
    return values


def _urlencoded(text: str) -> dict[str, Any]:
    try:
        return _single(parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"))
    except UnicodeDecodeError:
        raise
    except ValueError:
        raise HTTPException(400, f"more than {MAX_FIELDS} fields") from None


def _single(fields: dict[str, list[Any]]) -> dict[str, Any]:
    """A field given once is its value, one given several times the list of its values."""
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}
