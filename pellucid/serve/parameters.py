"""The parameters of a request, from its query and its body: JSON, or a form of either kind."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

MOST_FIELDS = 1000
BODY_SECONDS = 30  # for a body to arrive
NOT_UTF8 = "a field is not text in UTF-8"


async def read_parameters(request: Request) -> dict[str, Any]:
    """What the body says goes before what the query says. A field of a form that comes twice is a list."""
    query = _fields(request.url.query)
    body = await _body(request)
    if not body:
        return query
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return query | _json(body)
    if kind == "application/x-www-form-urlencoded":
        return query | _fields(_utf8(body))
    if kind == "multipart/form-data":
        return query | await _parts(request, body)
    raise HTTPException(415, "the body is neither JSON nor a form: say which in Content-Type")


async def read_json(request: Request) -> dict[str, Any]:
    return _json(await _body(request))


async def _body(request: Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.body()
    except TimeoutError:
        what = f"the body took longer than {BODY_SECONDS} s to arrive"
        raise HTTPException(408, what, {"Connection": "close"}) from None


def _json(body: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON")

    try:
        values = json.loads(body.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not valid JSON in UTF-8") from None
    if not isinstance(values, dict):
        raise HTTPException(400, "the body is not a JSON object")
    return values


def _fields(text: str) -> dict[str, Any]:
    try:
        return _gathered(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except UnicodeDecodeError:
        raise HTTPException(400, NOT_UTF8) from None
    except ValueError:
        raise HTTPException(400, f"more than {MOST_FIELDS} fields") from None


async def _parts(request: Request, body: bytes) -> dict[str, Any]:
    """The fields of a multipart form; a file is none."""
    _utf8(body)  # all of it is text, and what is not would be read as Latin-1
    form = await request.form(max_files=0, max_fields=MOST_FIELDS, max_part_size=len(body))
    return _gathered([(name, value) for name, value in form.multi_items() if isinstance(value, str)])


def _utf8(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise HTTPException(400, NOT_UTF8) from None


def _gathered(fields: list[tuple[str, str]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in fields:
        if name not in values:
            values[name] = value
        elif isinstance(values[name], list):
            values[name].append(value)
        else:
            values[name] = [values[name], value]
    return values
