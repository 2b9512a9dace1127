"""LibreTranslate's API, so that its clients work unchanged."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from pellucid.decode.translation import Translation
from pellucid.serve.batcher import Options
from pellucid.serve.gate import Json
from pellucid.serve.languages import NAMES
from pellucid.serve.markup import Page, Plain
from pellucid.serve.parameters import read_parameters
from pellucid.serve.service import Service
from pellucid.serve.spec import DETECT, TRANSLATE, documented
from pellucid.text.languages import Languages as Direction

MISSING = {
    "source": "the language of the text, or auto",
    "target": "the language to translate into; /languages has them all",
}


def routes(service: Service) -> APIRouter:
    router = APIRouter(tags=["LibreTranslate"])

    @router.post("/translate", openapi_extra=documented(TRANSLATE, "forms"), summary="Translate a text or several")
    async def translate(request: Request) -> Response:
        parameters = await read_parameters(request)
        async with service.admitted(request, parameters.get("api_key"), parameters.get("q")):
            return Json(await _translate(service, request, parameters))

    @router.post("/detect", openapi_extra=documented(DETECT, "forms"), summary="Which language a text is in")
    async def detect(request: Request) -> Response:
        parameters = await read_parameters(request)
        async with service.admitted(request, parameters.get("api_key"), parameters.get("q")):
            text = "\n".join(service.texts(parameters.get("q"), "q", "to look at"))
            return Json(await asyncio.to_thread(service.languages.detect, text))

    @router.get("/languages", summary="The languages, and into which each can be translated")
    async def languages() -> Response:
        return Json(service.languages.all())

    @router.get("/frontend/settings", summary="What a user interface should know")
    async def frontend_settings() -> Response:
        return Json(_settings(service))

    @router.get("/health", summary="Whether the service is up")
    async def health() -> Response:
        return Json({"status": "ok"})

    return router


async def _translate(service: Service, request: Request, parameters: dict[str, Any]) -> dict[str, Any]:
    q = service.texts(parameters.get("q"), "q")
    source, target = (_word(parameters, name) for name in ("source", "target"))
    form = _word(parameters, "format", "text")
    if form not in ("text", "html"):
        raise HTTPException(400, f"the format {form!r} is not supported: text and html are")
    alternatives = _alternatives(service, parameters.get("alternatives"))
    config = service.decoding({"n_best": alternatives + 1, "beam": service.beam(alternatives + 1)})

    def read() -> tuple[list[Page | Plain], list[Direction]]:
        pages = [Page(text) if form == "html" else Plain(text) for text in q]
        return pages, [service.languages.way(" ".join(page.texts), source, target) for page in pages]

    pages, ways = await asyncio.to_thread(read)  # a long text takes a while, and others should not wait for it
    found = await service.translate(
        request, [(Options(*way, config), page.texts) for way, page in zip(ways, pages, strict=True)]
    )
    ranks = [
        [page.write([_ranked(translation, rank) for translation in translations]) for rank in range(alternatives + 1)]
        for page, translations in zip(pages, found, strict=True)
    ]

    answer: dict[str, list[Any]] = {"translatedText": [best for best, *_ in ranks]}
    if source == "auto":
        answer["detectedLanguage"] = await asyncio.to_thread(
            lambda: [
                service.languages.detected(" ".join(page.texts), way) for page, way in zip(pages, ways, strict=True)
            ]
        )
    if alternatives:
        answer["alternatives"] = [list(dict.fromkeys(text for text in rest if text != best)) for best, *rest in ranks]
    return answer if isinstance(parameters["q"], list) else {name: values[0] for name, values in answer.items()}


def _ranked(translation: Translation, rank: int) -> str:
    every = (translation, *translation.alternatives)
    return every[min(rank, len(every) - 1)].text


def _word(parameters: dict[str, Any], name: str, default: str = "") -> str:
    value = parameters.get(name) or default
    if not value:
        raise HTTPException(400, f"missing {name}: {MISSING[name]}")
    if not isinstance(value, str):
        raise HTTPException(400, f"{name} is not a string")
    return value


def _alternatives(service: Service, value: Any) -> int:
    try:
        count = max(0, int(value or 0))
    except (TypeError, ValueError, OverflowError):
        raise HTTPException(400, "alternatives is not a number") from None
    limit = service.config.alternatives_limit
    if 0 <= limit < count:
        raise HTTPException(400, f"alternatives is {count}; at most {limit} are allowed")
    return count


def _settings(service: Service) -> dict[str, Any]:
    config = service.config
    first = next(language["targets"][0] for language in service.languages.all() if language["targets"])
    return {
        "apiKeys": config.api_keys is not None,
        "keyRequired": config.api_keys is not None,
        "charLimit": config.char_limit,
        "frontendTimeout": 500,
        "suggestions": False,
        "filesTranslation": False,
        "supportedFilesFormat": [],
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": first, "name": NAMES.get(first, first)},
        },
    }
