"""LibreTranslate's API, so that its clients work unchanged."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pellucid.config import DecodeConfig
from pellucid.config.serve import exceeds
from pellucid.decode.sentences import SourceText
from pellucid.serve.api.markup import Marked, Page, Plain
from pellucid.serve.api.openapi import ApiRoute
from pellucid.serve.languages import language_name
from pellucid.serve.middleware import SafeJSONResponse
from pellucid.serve.requests import DetectRequest, TranslateRequest
from pellucid.serve.service import Service, service_of
from pellucid.serve.work.batcher import Options
from pellucid.text.languages import Languages

TAG = "LibreTranslate"


async def translate(request: Request) -> Response:
    service = service_of(request)
    body = await service.receive(request, TranslateRequest)
    return SafeJSONResponse(await _translate(service, request, body))


async def detect(request: Request) -> Response:
    service = service_of(request)
    body = await service.receive(request, DetectRequest)
    text = "\n".join(service.texts(body.q, "q"))
    return SafeJSONResponse(await asyncio.to_thread(service.languages.detect, text))


async def languages(request: Request) -> Response:
    return SafeJSONResponse(service_of(request).languages.all())


async def health(_: Request) -> Response:
    return SafeJSONResponse({"status": "ok"})


async def frontend_settings(request: Request) -> Response:
    service = service_of(request)
    key_required = service.config.api_keys is not None
    first = next(language["targets"][0] for language in service.languages.all() if language["targets"])
    return SafeJSONResponse(
        {
            "apiKeys": key_required,
            "keyRequired": key_required,
            "charLimit": service.config.char_limit,
            "frontendTimeout": 500,
            "suggestions": False,
            "filesTranslation": False,
            "supportedFilesFormat": [],
            "language": {
                "source": {"code": "auto", "name": "Auto Detect"},
                "target": {"code": first, "name": language_name(first)},
            },
        }
    )


ROUTES = [
    ApiRoute("/translate", translate, "Translate a text or several", TranslateRequest, TAG),
    ApiRoute("/detect", detect, "Detect the language of a text", DetectRequest, TAG),
    ApiRoute("/languages", languages, "List the languages and their targets", tag=TAG),
    ApiRoute("/frontend/settings", frontend_settings, "Settings for a user interface", tag=TAG),
    ApiRoute("/health", health, "Whether the service is up", tag=TAG),
]


async def _translate(service: Service, request: Request, body: TranslateRequest) -> dict[str, Any]:
    texts = service.texts(body.q, "q")
    count, limit = body.alternatives, service.config.alternatives_limit
    if exceeds(count, limit):
        raise HTTPException(400, f"alternatives is {count}; at most {limit} are allowed")
    config = service.decode_config(DecodeConfig(n_best=count + 1, beam=service.beam(count + 1)))

    def read() -> list[tuple[Page | Plain, Languages]]:
        pages = [Page(text) if body.format == "html" else Plain(text) for text in texts]
        find = service.languages.direction
        return [(page, find(page.text, body.source, body.target)) for page in pages]

    pages = await asyncio.to_thread(read)  # long texts take a while, which would block the event loop
    sources = [SourceText(text, direction, tags=tags) for page, direction in pages for text, tags in page.texts]
    found = iter(await service.translate(request, sources, Options(config)))
    ranked = []  # of each page, the best translation and the alternatives
    for page, _ in pages:
        hypotheses = [(best, *best.alternatives) for best in islice(found, len(page.texts))]
        # A text with fewer hypotheses repeats its last.
        ranks = [[Marked.of(each[min(rank, len(each) - 1)]) for each in hypotheses] for rank in range(count + 1)]
        ranked.append([page.write(translated) for translated in ranks])

    answer: dict[str, list[Any]] = {"translatedText": [best for best, *_ in ranked]}
    if body.source == "auto":
        answer["detectedLanguage"] = await asyncio.to_thread(
            lambda: [service.languages.detection(page.text, source) for page, (source, _) in pages]
        )
    if count:
        answer["alternatives"] = [list(dict.fromkeys(text for text in rest if text != best)) for best, *rest in ranked]
    return answer if isinstance(body.q, list) else {name: values[0] for name, values in answer.items()}
