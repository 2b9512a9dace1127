"""Runs with snapshots over HTTP: which there are, and how one learned a sentence, as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from pellucid.errors import UserError
from pellucid.model_directory.snapshots import Snapshots
from pellucid.serve.api.native import UNBUFFERED, event
from pellucid.serve.api.openapi import ApiRoute
from pellucid.serve.log import location
from pellucid.serve.middleware import SERVER_ERROR, SafeJSONResponse, log
from pellucid.serve.requests import LearningRequest
from pellucid.serve.service import Service, service_of
from pellucid.serve.work.iterators import Task


async def runs(request: Request) -> Response:
    service = service_of(request)
    return SafeJSONResponse(
        await asyncio.to_thread(lambda: [_described(name, each) for name, each in service.runs.items()])
    )


async def learning(request: Request) -> Response:
    service = service_of(request)
    body = await service.receive(request, LearningRequest)
    snapshots = service.snapshots(body.run)
    text, target_text = (
        service.texts(value, name)[0] if value else None
        for name, value in (("text", body.text), ("target_text", body.target_text))
    )

    def watch() -> Iterator[tuple[str, Any]]:
        from pellucid.tracing.learning import watched_sentence

        watched = watched_sentence(snapshots, text, body.source, body.target, target_text=target_text)
        yield "start", watched.plain()
        yield from (("moment", moment.data) for moment in watched.moments())
        yield "end", {}

    task = service.learning_task(request, watch, len(snapshots.steps))
    return StreamingResponse(_events(service, task), media_type="text/event-stream", headers=UNBUFFERED)


ROUTES = [
    ApiRoute("/api/runs", runs, "List the runs with snapshots", tag="Pellucid"),
    ApiRoute(
        "/api/learning", learning, "How a run learned a sentence, as a stream of events", LearningRequest, "Pellucid"
    ),
]


async def _events(service: Service, task: Task) -> AsyncGenerator[bytes]:
    """Server-sent events: `start` with what all moments have in common, a `moment` a snapshot, `end` or `error`."""
    try:
        async with aclosing(service.iterators.read(task, service.config.timeout)) as stream:
            async for name, data in stream:
                yield event(name, data)
    except HTTPException as error:  # the queue is full, or the time is up
        yield event("error", {"error": error.detail})
    except UserError as error:
        yield event("error", {"error": str(error)})
    except Exception as error:
        log.error("%s", location(error))
        yield event("error", {"error": SERVER_ERROR})


def _described(name: str, snapshots: Snapshots) -> dict[str, Any]:
    """Without the sample: it may be of private pairs, and this is answered without an API key."""
    return {"name": name, "steps": snapshots.steps, "sample": snapshots.sample is not None}
