"""The labs over HTTP: all of them with the results that come with Pellucid, and one run at a time, as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from functools import cache
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from pellucid.errors import Problem, UserError
from pellucid.labs import NAMES, Lab, Result, committed, lab
from pellucid.labs.page import describe
from pellucid.labs.parts.lab import LabConfig
from pellucid.serve.api.native import UNBUFFERED, event
from pellucid.serve.api.openapi import ApiRoute
from pellucid.serve.log import location
from pellucid.serve.middleware import SERVER_ERROR, SafeJSONResponse, log
from pellucid.serve.requests import LabRequest
from pellucid.serve.service import Service, service_of
from pellucid.serve.work.iterators import Task, TimedOutError


async def labs(_: Request) -> Response:
    return SafeJSONResponse(await asyncio.to_thread(_all))


async def run(request: Request) -> Response:
    service = service_of(request)
    body = await service.receive(request, LabRequest)
    chosen = lab(body.name)
    config = _configure(chosen, body.changes or {})
    if not service.config.lab_timeout:
        raise HTTPException(403, "labs cannot be started on this server (lab_timeout is 0)")
    # Its CPU time is not charged: one lab runs at a time, for a limited time.
    task = Task(lambda: chosen.steps(config), request.state.client.name)
    return StreamingResponse(_events(service, task), media_type="text/event-stream", headers=UNBUFFERED)


ROUTES = [
    ApiRoute("/api/labs", labs, "List the labs, with the results of their full runs", tag="Pellucid"),
    ApiRoute("/api/labs/run", run, "Run a lab, as a stream of events", LabRequest, "Pellucid"),
]


@cache
def _all() -> list[dict[str, Any]]:
    return [{**describe(lab(name)), "result": committed(name).plain()} for name in NAMES]


def _configure(chosen: Lab, settings: dict[str, Any]) -> LabConfig:
    """The settings of a run. Those of the request are called changes.NAME in an error."""
    try:
        return chosen.configure(quick=True, **settings)
    except UserError as error:
        raise UserError(Problem(each.what, f"changes.{each.where}", each.remedy) for each in error.problems) from None


async def _events(service: Service, task: Task) -> AsyncGenerator[bytes]:
    """Server-sent events: `progress` many times, then `result` or `error`."""
    try:
        with _the_only_one(service):
            async with aclosing(service.iterators.read(task, service.config.lab_timeout)) as stream:
                async for step in stream:
                    if isinstance(step, Result):
                        yield event("result", step.plain())
                    else:
                        yield event("progress", step._asdict())
    except TimedOutError:
        seconds = service.config.lab_timeout
        yield event("error", {"error": f"the lab took longer than {seconds:g} s (choose fewer seeds or updates)"})
    except HTTPException as error:  # another lab is running, or the queue is full
        yield event("error", {"error": error.detail})
    except UserError as error:  # torch is not installed
        yield event("error", {"error": str(error)})
    except Exception as error:
        log.error("%s", location(error))
        yield event("error", {"error": SERVER_ERROR})


@contextmanager
def _the_only_one(service: Service) -> Iterator[None]:
    """A run takes a whole core, so there is one at a time."""
    if not service.lab.acquire(blocking=False):
        raise HTTPException(503, "another lab is running (try again when it has ended)")
    try:
        yield
    finally:
        service.lab.release()
