"""The native API: translations with every setting of a search, streams, traces, and a description of the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from importlib.metadata import version
from math import isfinite
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from pellucid.config import DecodeConfig
from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation
from pellucid.errors import UserError
from pellucid.serve.api.openapi import ApiRoute
from pellucid.serve.batcher import Options
from pellucid.serve.middleware import SERVER_ERROR, SafeJSONResponse, location, log
from pellucid.serve.requests import ExplainRequest, SearchRequest, StreamRequest
from pellucid.serve.service import Service, service_of

LIMITS = ("char_limit", "batch_limit", "beam_limit", "alternatives_limit", "output_limit", "req_limit", "timeout")
TAG = "Pellucid"


async def translate(request: Request) -> Response:
    service = service_of(request)
    async with service.receive(request, SearchRequest, beam=service.beam()) as body:
        texts = service.texts(body.text, "text")
        options = Options(service.decode_config(body), body.protect, body.split)
        sources = await asyncio.to_thread(_sources, service, texts, body, service.prefix(body.prefix))
        answers = [_translation(translation) for translation in await service.translate(request, sources, options)]
        return SafeJSONResponse(answers if isinstance(body.text, list) else answers[0])


async def stream(request: Request) -> Response:
    service = service_of(request)
    async with AsyncExitStack() as stack:
        body = await stack.enter_async_context(service.receive(request, StreamRequest, beam=service.beam()))
        texts = service.texts(body.text, "text")
        [source] = await asyncio.to_thread(_sources, service, texts, body)
        events = _events(service, source, service.decode_config(body), stack.pop_all())
        unbuffered = {"X-Accel-Buffering": "no"}  # for proxies that would collect the whole answer first
        return StreamingResponse(events, media_type="text/event-stream", headers=unbuffered)


async def explain(request: Request) -> Response:
    service = service_of(request)
    async with service.receive(request, ExplainRequest) as body:
        [text] = service.texts(body.text, "text")
        given = body.target_text and service.texts(body.target_text, "target_text")[0]
        direction = await asyncio.to_thread(service.languages.direction, text, body.source, body.target)
        return Response(await service.explain(request, text, direction, given), media_type="application/json")


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
    ApiRoute("/api/model", model, "Describe the model, its options and limits", tag=TAG),
]


def _sources(
    service: Service, texts: list[str], body: SearchRequest | StreamRequest, prefix: str = ""
) -> list[SourceText]:
    find = service.languages.direction
    return [SourceText(text, find(text, body.source, body.target), prefix) for text in texts]


async def _events(
    service: Service, source: SourceText, config: DecodeConfig, stack: AsyncExitStack
) -> AsyncGenerator[bytes]:
    """Server-sent events: `start`, `piece` whenever there is more text, `end` or `error`. Then `stack` is closed."""
    async with stack:
        yield _event("start", dict(zip(("source", "target"), source.direction, strict=True)))
        pieces = []
        try:
            async with aclosing(service.stream(source, config)) as stream:
                async for piece in stream:
                    pieces.append(piece)
                    yield _event("piece", {"text": piece})
            yield _event("end", {"text": "".join(pieces)})
        except HTTPException as error:  # the queue is full, or the time is up
            yield _event("error", {"error": error.detail})
        except UserError as error:
            yield _event("error", {"error": str(error)})
        except Exception as error:
            log.error("%s", location(error))
            yield _event("error", {"error": SERVER_ERROR})


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _translation(translation: Translation) -> dict[str, Any]:
    alternatives = [_hypothesis(other) for other in translation.alternatives]
    return vars(translation) | _hypothesis(translation) | {"alternatives": alternatives}


def _hypothesis(translation: Translation) -> dict[str, Any]:
    # The score of a forced hypothesis may be minus infinity, which JSON cannot represent.
    score = translation.score if isfinite(translation.score) else None
    return {"text": translation.text, "score": score, "tokens": translation.tokens}
