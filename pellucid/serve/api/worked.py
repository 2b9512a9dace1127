"""The worked examples over HTTP: all of them checked, or one of them checked again with other numbers.

Numbers are strings here, as written by a person: 0.090 states one digit more than 0.09.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import repeat
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from pellucid.errors import Problem, UserError, nearest
from pellucid.serve.api.openapi import ApiRoute
from pellucid.serve.middleware import SafeJSONResponse
from pellucid.serve.requests import WorkedRequest
from pellucid.serve.service import service_of
from pellucid.worked import CheckedStep, Example, check, shipped, templates
from pellucid.worked.examples import read_text
from pellucid.worked.numbers import UNSTATED, Stated, items, like, read_input, read_stated
from pellucid.worked.plain import input_text, plain, stated_text, to_toml
from pellucid.worked.written import read_number

MAX_CHARACTERS = 40  # of a number or word
MAX_SHEET = 100_000  # characters
T = TypeVar("T")
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?|inf|nan)", re.IGNORECASE)


async def examples(_: Request) -> Response:
    return SafeJSONResponse(await asyncio.to_thread(_all))


async def edited(request: Request) -> Response:
    body = await service_of(request).receive(request, WorkedRequest)
    return SafeJSONResponse(await asyncio.to_thread(_edited, body))


async def template_list(_: Request) -> Response:
    return SafeJSONResponse([{"id": name, "title": _title(name)} for name in templates()])


ROUTES = [
    ApiRoute("/api/templates", template_list, "List the templates of worked examples", tag="Pellucid"),
    ApiRoute("/api/worked", examples, "List the worked examples, checked", tag="Pellucid"),
    ApiRoute("/api/worked", edited, "Check a worked example with other numbers, or a sheet", WorkedRequest, "Pellucid"),
]


@cache
def _examples() -> dict[str, Example]:
    examples = [read_text(path.read_text(encoding="utf-8"), path.name) for path in shipped()]
    return {example.id: example for example in examples}


@cache
def _title(name: str) -> str:
    return read_text(templates()[name].read_text(encoding="utf-8"), name).title


@cache
def _all() -> list[dict[str, Any]]:
    return [plain(check(example)) for example in _examples().values()]


def _edited(body: WorkedRequest) -> dict[str, Any]:
    """A worked example checked with the numbers of the request in place of its own. Of a sheet, also its new text."""
    example = _asked_for(body)
    texts = {name: input_text(value) for name, value in example.inputs.items()}
    stated = {step.step.name: _written(step) for step in check(example).steps if step.step.asked}
    problems: list[Problem] = []
    inputs = _edits("inputs", body.inputs or {}, texts, read_input, problems)
    claims = _edits("stated", body.stated or {}, stated, _stated, problems)
    if problems:
        raise UserError(problems)
    steps = [replace(step, stated=claims.get(step.name, step.stated)) for step in example.steps]
    changed = replace(example, inputs=example.inputs | inputs, steps=steps)
    own = body.sheet is not None or body.id in templates()
    return plain(check(changed)) | ({"sheet": to_toml(changed)} if own else {})


def _asked_for(body: WorkedRequest) -> Example:
    if body.sheet is not None:
        if len(body.sheet) > MAX_SHEET:
            raise UserError(f"is longer than {MAX_SHEET} characters", "sheet", "split it into several")
        return read_text(body.sheet, "sheet")
    if body.id in templates():
        return read_text(templates()[body.id].read_text(encoding="utf-8"), f"{body.id}.toml")
    if body.id not in _examples():
        raise UserError(f"{body.id!r} is not a worked example", "id", nearest(body.id, (*_examples(), *templates())))
    return _examples()[body.id]


def _written(step: CheckedStep) -> Any:
    """What is stated, or the shape of what is due: "?" for a number, an empty text for a word."""
    if step.step.stated is not None:
        return step.step.stated.written
    blank = "" if step.right is not None and step.right.dtype.kind == "U" else UNSTATED
    return like(stated_text(step) or UNSTATED, repeat(blank))


def _stated(written: Any) -> Stated | None:
    return None if all(leaf == UNSTATED for leaf in items(written)) else read_stated(written)


def _edits(
    kind: str, given: dict[str, Any], originals: dict[str, Any], parse: Callable[[Any], T], problems: list[Problem]
) -> dict[str, T]:
    """The values that replace those of an example. What is wrong with them is added to `problems`."""
    found = {}
    for name, written in given.items():
        place = f"{kind}.{name}"
        if name not in originals:
            problems.append(Problem("unknown name", place, nearest(name, originals)))
        elif not _alike(written, originals[name]):
            problems.append(Problem("has another shape than in the example", place, "keep rows and columns"))
        else:
            pairs = zip(items(written), items(originals[name]), strict=True)
            leaves = [_leaf(place, *pair, problems) for pair in pairs]
            try:
                found[name] = parse(like(originals[name], iter(leaves)))
            except ValueError as error:
                problems.append(Problem(str(error), place))
    return found


def _leaf(place: str, text: Any, original: Any, problems: list[Problem]) -> Any:
    """A number or word. An empty string in a stated result states nothing, and a word stays a word."""
    if not isinstance(text, str) or len(text) > MAX_CHARACTERS:
        remedy = f"write a string of at most {MAX_CHARACTERS} characters"
        problems.append(Problem("is not written as text", place, remedy))
        return 0
    text = text.strip().replace("−", "-").replace("∞", "inf")
    if place.startswith("stated.") and text in ("", UNSTATED):
        return UNSTATED
    if isinstance(original, str) and original != UNSTATED and read_number(original) is None:  # a word
        return text
    if not NUMBER.fullmatch(text):
        if read_number(text) is None:
            problems.append(Problem(f"{text!r} is not a number", place, "write it as 0.25"))
            return 0
        return text  # in another notation: 1/2, 0,25
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else Decimal(text)


def _alike(written: Any, original: Any) -> bool:
    """Whether nested lists have the same shape."""
    if not isinstance(original, list):
        return not isinstance(written, list)
    return isinstance(written, list) and len(written) == len(original) and all(map(_alike, written, original))
