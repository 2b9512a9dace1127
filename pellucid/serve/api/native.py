"""The native API: translations with every setting of a search, streams, traces, and a description of the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from importlib.metadata import version
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from pellucid.config import DecodeConfig
from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation
from pellucid.errors import UserError
from pellucid.serve.api.openapi import ApiRoute
from pellucid.serve.log import location
from pellucid.serve.middleware import SERVER_ERROR, SafeJSONResponse, log
from pellucid.serve.requests import CellRequest, ExplainRequest, SearchRequest, StreamRequest
from pellucid.serve.service import Service, service_of
from pellucid.serve.work.batcher import Options
from pellucid.serve.work.iterators import Task
from pellucid.text.languages import Languages

if TYPE_CHECKING:
    from pellucid.tracing import Trace

AnyExplain = TypeVar("AnyExplain", bound=ExplainRequest)

LIMITS = (
    "char_limit",
    "batch_limit",
    "beam_limit",
    "alternatives_limit",
    "output_limit",
    "search_limit",
    "req_limit",
    "timeout",
)
TAG = "Pellucid"
UNBUFFERED = {"X-Accel-Buffering": "no"}  # for proxies that would collect the whole answer first


async def translate(request: Request) -> Response:
    service = service_of(request)
    body = await service.receive(request, SearchRequest, beam=service.beam())
    texts = service.texts(body.text, "text")
    options = Options(service.decode_config(body), body.protect, body.split)
    sources = await asyncio.to_thread(_sources, service, texts, body, service.prefix(body.prefix))
    answers = [_translation(translation) for translation in await service.translate(request, sources, options)]
    return SafeJSONResponse(answers if isinstance(body.text, list) else answers[0])


async def stream(request: Request) -> Response:
    service = service_of(request)
    body = await service.receive(request, StreamRequest, beam=service.beam())
    texts = service.texts(body.text, "text")
    [source] = await asyncio.to_thread(_sources, service, texts, body)
    task = await service.stream_task(request, source, service.decode_config(body))
    return StreamingResponse(_events(service, source, task), media_type="text/event-stream", headers=UNBUFFERED)


async def explain(request: Request) -> Response:
    return await _explain(request, ExplainRequest, lambda trace, _: trace.to_json())


async def cell(request: Request) -> Response:
    return await _explain(
        request, CellRequest, lambda trace, body: json.dumps((trace.changed or trace).open_at(body.cell))
    )


async def _explain(request: Request, kind: type[AnyExplain], answer: Callable[[Trace, AnyExplain], str]) -> Response:
    """What a trace answers to a request."""
    service = service_of(request)
    body = await service.receive(request, kind)
    [text] = service.texts(body.text, "text")
    given = body.target_text and service.texts(body.target_text, "target_text")[0]
    direction = await _direction(service, text, body)
    changes = service.texts(body.intervene or [], "intervene")

    def start() -> Trace:
        from pellucid.tracing import explain

        translator = service.translator_of(body.run, body.step)
        return explain(translator, text, *direction, target_text=given, intervene=changes)

    found = await service.explain(request, lambda: answer(start(), body))
    return Response(found, media_type="application/json")


async def _direction(service: Service, text: str, body: ExplainRequest) -> Languages:
    """As it was asked for, because the trace says whether the language was detected; none, where the model has none."""
    if body.run is not None:
        return body.source, body.target
    found = await asyncio.to_thread(service.languages.direction, text, body.source, body.target)
    return found if found == (None, None) else (body.source, body.target)


async def model(request: Request) -> Response:
    service = service_of(request)
    translator, limits = service.translator, service.config
    return SafeJSONResponse(
        {
            "name": translator.directory.name,
            "version": version("pellucid"),
            "engine": translator.engine(DecodeConfig()).name,
            "languages": service.languages.all(),
            "config": translator.config.to_dict(),
            "options": {name: setting.json_schema() for name, setting in DecodeConfig.settings().items()},
            "limits": {name: getattr(limits, name) for name in LIMITS},
            "key_required": limits.api_keys is not None,
        }
    )


ROUTES = [
    ApiRoute("/api/translate", translate, "Translate", SearchRequest, TAG),
    ApiRoute("/api/stream", stream, "Translate, as a stream of events", StreamRequest, TAG),
    ApiRoute("/api/explain", explain, "Trace one translation", ExplainRequest, TAG),
    ApiRoute("/api/cell", cell, "Open one number of a trace", CellRequest, TAG),
    ApiRoute("/api/model", model, "Describe the model, its options and limits", tag=TAG),
]


def _sources(
    service: Service, texts: list[str], body: SearchRequest | StreamRequest, prefix: str = ""
) -> list[SourceText]:
    find = service.languages.direction
    return [SourceText(text, find(text, body.source, body.target), prefix) for text in texts]


async def _events(service: Service, source: SourceText, task: Task) -> AsyncGenerator[bytes]:
    """Server-sent events: `start`, `piece` whenever there is more text, `end` or `error`."""
    yield event("start", dict(zip(("source", "target"), source.direction, strict=True)))
    pieces = []
    try:
        async with aclosing(service.stream(source, task)) as stream:
            async for piece in stream:
                pieces.append(piece)
                yield event("piece", {"text": piece})
        yield event("end", {"text": "".join(pieces)})
    except HTTPException as error:  # the queue is full, or the time is up
        yield event("error", {"error": error.detail})
    except UserError as error:
        yield event("error", {"error": str(error)})
    except Exception as error:
        log.error("%s", location(error))
        yield event("error", {"error": SERVER_ERROR})


def event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _translation(translation: Translation) -> dict[str, Any]:
    alternatives = [_hypothesis(other) for other in translation.alternatives]
    fields = {name: value for name, value in vars(translation).items() if name != "tags"}  # they are in its text
    return fields | _hypothesis(translation) | {"alternatives": alternatives}


def _hypothesis(translation: Translation) -> dict[str, Any]:
    # The score of a forced hypothesis may be minus infinity, which JSON cannot represent.
    score = translation.score if isfinite(translation.score) else None
    return {"text": translation.text, "score": score, "tokens": translation.tokens}
