"""The worked examples over HTTP: all of them checked, and one of them again with other numbers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from starlette.responses import Response

from pellucid.errors import Problem, UserError, nearest
from pellucid.serve import spec
from pellucid.serve.api import known
from pellucid.serve.gate import Json
from pellucid.serve.parameters import read_json
from pellucid.serve.service import Service
from pellucid.worked import Example, check, shipped
from pellucid.worked.examples import read_text
from pellucid.worked.numbers import UNSTATED, Stated, items, like, read_input, read_stated
from pellucid.worked.plain import input_text, plain

MOST_SIGNS = 40  # of a number or word
T = TypeVar("T")
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?|inf|nan)", re.IGNORECASE)


def routes(service: Service) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["Pellucid"])

    @router.get("/worked", summary="The worked examples, checked")
    async def examples() -> Response:
        return Json(await asyncio.to_thread(_all))

    @router.post(
        "/worked", openapi_extra=spec.documented(spec.WORKED, "json"), summary="A worked example with other numbers"
    )
    async def edited(request: Request) -> Response:
        asked = await read_json(request)
        async with service.admitted(request, asked.get("api_key"), None):
            return Json(await asyncio.to_thread(_edited, known(asked, spec.WORKED)))

    return router


@cache
def _examples() -> dict[str, Example]:
    return {example.id: example for example in map(_read, shipped())}


def _read(path: Path) -> Example:
    return read_text(path.read_text(encoding="utf-8"), path.name)


@cache
def _all() -> list[dict[str, Any]]:
    return [plain(check(example)) for example in _examples().values()]


def _edited(values: dict[str, Any]) -> dict[str, Any]:
    """The verdicts on an example of ours in which some numbers are others."""
    identity = values.get("id", "")
    if not isinstance(identity, str) or identity not in _examples():
        raise UserError(f"{identity!r} is no worked example", "id", nearest(str(identity), _examples()))
    example = _examples()[identity]
    texts = {name: input_text(value) for name, value in example.inputs.items()}
    stated = {step.name: step.stated.written for step in example.steps if step.stated}
    edits = _Edits()
    inputs = edits.of("inputs", values.get("inputs", {}), texts, read_input)
    claims = edits.of("stated", values.get("stated", {}), stated, _stated)
    if edits.problems:
        raise UserError(edits.problems)
    steps = [replace(step, stated=claims.get(step.name, step.stated)) for step in example.steps]
    return plain(check(replace(example, inputs=example.inputs | inputs, steps=steps)))


def _stated(written: Any) -> Stated | None:
    return None if all(leaf == UNSTATED for leaf in items(written)) else read_stated(written)


class _Edits:
    """Reads numbers that take the place of others, and gathers every problem on the way."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def of(self, kind: str, given: Any, originals: dict[str, Any], read: Callable[[Any], T]) -> dict[str, T]:
        if not isinstance(given, dict):
            self.problems.append(Problem("is no object", kind, 'write {"name": numbers}'))
            return {}
        found = {}
        for name, written in given.items():
            place = f"{kind}.{name}"
            if name not in originals:
                self.problems.append(Problem("unknown name", place, nearest(name, originals)))
            elif not _alike(written, originals[name]):
                self.problems.append(Problem("has another shape than in the example", place, "keep rows and columns"))
            else:
                pairs = zip(items(written), items(originals[name]), strict=True)
                leaves = [self._leaf(place, *pair) for pair in pairs]
                try:
                    found[name] = read(like(originals[name], iter(leaves)))
                except ValueError as error:
                    self.problems.append(Problem(str(error), place))
        return found

    def _leaf(self, place: str, text: Any, original: Any) -> Any:
        """A number or word. An empty place states nothing, and a word stays one."""
        if not isinstance(text, str) or len(text) > MOST_SIGNS:
            self.problems.append(Problem("is not written as text", place, f"a text of at most {MOST_SIGNS} signs"))
            return 0
        text = text.strip().replace("−", "-").replace("∞", "inf")
        is_word = isinstance(original, str) and original != UNSTATED and not NUMBER.fullmatch(original)
        if place.startswith("stated.") and text in ("", UNSTATED):
            return UNSTATED
        if is_word:
            return text
        if not NUMBER.fullmatch(text):
            self.problems.append(Problem(f"{text!r} is no number", place, "write it as 0.25"))
            return 0
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else Decimal(text)


def _alike(written: Any, original: Any) -> bool:
    """Whether nested lists have the same shape."""
    if not isinstance(original, list):
        return not isinstance(written, list)
    return isinstance(written, list) and len(written) == len(original) and all(map(_alike, written, original))
