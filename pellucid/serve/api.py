"""The API of the page: every option of a search, the translation as it comes, and what the model is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from importlib.metadata import version
from math import isfinite
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response, StreamingResponse

from pellucid.config import DecodeConfig
from pellucid.decode.translation import Translation
from pellucid.errors import Problem, UserError, nearest
from pellucid.fields import KINDS
from pellucid.serve import spec
from pellucid.serve.batcher import BusyError, Options
from pellucid.serve.gate import Json, log, where
from pellucid.serve.parameters import read_json
from pellucid.serve.service import Service, busy, too_slow

MOST_PROBLEMS = 10  # told of one request


def routes(service: Service) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["Pellucid"])

    @router.post("/translate", openapi_extra=spec.documented(spec.SEARCH, "json"), summary="Translate")
    async def translate(request: Request) -> Response:
        asked = await read_json(request)
        async with service.admitted(request, asked.get("api_key"), asked.get("text")):
            values = known(asked, spec.SEARCH)
            texts = service.texts(values.get("text"), "text")
            options = await asyncio.to_thread(_options, service, texts, values)
            wanted = [(each, (text,)) for each, text in zip(options, texts, strict=True)]
            found = await service.translate(request, wanted, service.prefix(values.get("prefix")))
            answers = [_translation(translation) for [translation] in found]
            return Json(answers if isinstance(values["text"], list) else answers[0])

    @router.post("/stream", openapi_extra=spec.documented(spec.STREAM, "json"), summary="Translate, as it comes")
    async def stream(request: Request) -> Response:
        asked = await read_json(request)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(service.admitted(request, asked.get("api_key"), asked.get("text")))
            values = known(asked, spec.STREAM)
            text = _one(service.texts(values.get("text"), "text"))
            [options] = await asyncio.to_thread(_options, service, [text], {"strategy": "greedy"} | values)
            events = _events(service, text, options, stack.pop_all())
            unbuffered = {"X-Accel-Buffering": "no"}  # for proxies that would wait for the end
            return StreamingResponse(events, media_type="text/event-stream", headers=unbuffered)

    @router.post(
        "/explain", openapi_extra=spec.documented(spec.EXPLAIN, "json"), summary="A translation from the inside"
    )
    async def explain(request: Request) -> Response:
        asked = await read_json(request)
        async with service.admitted(request, asked.get("api_key"), asked.get("text")):
            values = known(asked, spec.EXPLAIN)
            text = _one(service.texts(values.get("text"), "text"))
            target_text = values.get("target_text")
            if target_text is not None:
                target_text = _one(service.texts(target_text, "target_text"))
            [options] = await asyncio.to_thread(_options, service, [text], values)
            trace = await service.explain(request, text, options, target_text)
            return Response(trace, media_type="application/json")

    @router.get("/model", summary="What the model is, and what may be asked of it")
    async def model() -> Response:
        return Json(_model(service))

    return router


def known(values: dict[str, Any], schema: spec.Schema) -> dict[str, Any]:
    """The values that are given; a name that means nothing is an error. null is as good as not given."""
    names = schema["properties"]
    unknown = [name for name in values if name not in names]
    if unknown:
        told = [Problem("unknown key", name, nearest(name, names)) for name in unknown[:MOST_PROBLEMS]]
        rest = len(unknown) - len(told)
        raise UserError(told + ([Problem(f"and {rest} more unknown keys")] if rest else []))
    return {name: value for name, value in values.items() if value is not None}


def _one(texts: list[str]) -> str:
    if len(texts) > 1:
        raise HTTPException(400, "one text at a time: this takes no list")
    return texts[0]


def _options(service: Service, texts: list[str], values: dict[str, Any]) -> list[Options]:
    """How each text is translated: in the same way, but for the language it may be in."""
    config = service.decoding({name: values[name] for name in DecodeConfig.names() if name in values})
    wrong = [
        Problem(f"{values[name]!r} does not fit", name, f"give {KINDS[kind]}")
        for name, kind in (("source", str), ("target", str), ("prefix", str), ("protect", bool), ("split", bool))
        if not isinstance(values.get(name, kind()), kind)
    ]
    if wrong:
        raise UserError(wrong)
    ways = [service.languages.way(text, values.get("source"), values.get("target")) for text in texts]
    return [Options(*way, config, values.get("protect", False), values.get("split")) for way in ways]


async def _events(service: Service, text: str, options: Options, admitted: AsyncExitStack) -> AsyncGenerator[bytes]:
    """Server-sent events: `start`, a `piece` each time there is more, and `end`; or `error`, which ends it too."""
    async with admitted:
        yield _event("start", {"source": options.source, "target": options.target})
        pieces = []
        try:
            async with aclosing(service.stream(text, options)) as stream:
                async for piece in stream:
                    pieces.append(piece)
                    yield _event("piece", {"text": piece})
            yield _event("end", {"text": "".join(pieces)})
        except BusyError:
            yield _event("error", {"error": busy().detail})
        except TimeoutError:
            yield _event("error", {"error": too_slow(service.config).detail})
        except UserError as fault:
            yield _event("error", {"error": str(fault)})
        except Exception as fault:
            log.error("%s", where(fault))
            yield _event("error", {"error": "something went wrong on the server"})


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _translation(translation: Translation) -> dict[str, Any]:
    return _said(translation) | {
        "alternatives": [_said(other) for other in translation.alternatives],
        "source": translation.source,
        "target": translation.target,
        "notes": translation.notes,
    }


def _said(translation: Translation) -> dict[str, Any]:
    # A hypothesis that had to be forced may be as good as impossible, and JSON has no infinity.
    score = translation.score if isfinite(translation.score) else None
    return {"text": translation.text, "score": score, "tokens": translation.tokens}


def _model(service: Service) -> dict[str, Any]:
    translator, limits = service.translator, service.config
    names = ("char_limit", "batch_limit", "beam_limit", "alternatives_limit", "output_limit", "req_limit", "timeout")
    return {
        "name": translator.directory.name,
        "version": version("pellucid"),
        "engine": translator.engine(DecodeConfig()).name,
        "languages": service.languages.all(),
        "config": translator.config.to_dict(),
        "options": spec.OPTIONS,
        "limits": {name: getattr(limits, name) for name in names},
        "key_required": limits.api_keys is not None,
    }
