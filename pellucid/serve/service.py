"""What the endpoints share: API keys and limits, and the path of a text through the queue and back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request

from pellucid.config import DecodeConfig
from pellucid.config.serve import ServeConfig, exceeds
from pellucid.cores import cores
from pellucid.decode.hypotheses import default_max_length
from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Stop, Translator
from pellucid.errors import Problem, UserError, counted
from pellucid.serve.batcher import Batcher, Job, Options
from pellucid.serve.clients import ApiKeys, Client, RateLimiter, network
from pellucid.serve.iterators import IteratorPool, TimedOutError
from pellucid.serve.languages import Languages
from pellucid.serve.middleware import CLIENT_CLOSED_REQUEST
from pellucid.serve.prometheus import ServiceMetrics
from pellucid.serve.requests import Body
from pellucid.text.languages import Languages as Direction
from pellucid.text.unicode import well_formed

Result = TypeVar("Result")
AnyBody = TypeVar("AnyBody", bound=Body)


class Service:
    def __init__(self, translator: Translator, config: ServeConfig) -> None:
        self.translator = translator
        self.config = config
        self.languages = Languages(translator)
        self.metrics = ServiceMetrics(lambda: self.batcher.unfinished + self.iterators.unfinished)
        threads = config.threads or cores()
        self.batcher = Batcher(self._translate, threads, config.queue_limit, self.metrics.batches.observe)
        self.iterators = IteratorPool(threads, config.queue_limit)
        self._keys = ApiKeys.read(Path(config.api_keys)) if config.api_keys else None
        self._rate_limiter = RateLimiter()

    def close(self) -> None:
        """Finish the accepted requests."""
        self.batcher.close()
        self.iterators.close()

    @asynccontextmanager
    async def receive(self, request: Request, kind: type[AnyBody], **defaults: Any) -> AsyncIterator[AnyBody]:
        """The body of a request. API key and rate limit are checked before it is parsed; its cost is charged last."""
        values = await kind.read(request)
        client = self._client(request, values.pop("api_key", None))  # ignored, whatever it is, where none is required
        texts = values.get("q", values.get("text"))
        given = len(texts) if isinstance(texts, list) else 1
        count = 1 if exceeds(given, self.config.batch_limit) else max(1, given)
        seconds = ceil(self._rate_limiter.retry_after(client))
        if seconds:
            allowed = counted(client.req_limit, "request")
            message = f"slow down: no more than {allowed} a minute (try again in {seconds} s)"
            raise HTTPException(429, message, {"Retry-After": str(seconds)})
        self._rate_limiter.charge(client, count)
        start = perf_counter()
        try:
            yield kind.parse(values, **defaults)
        finally:
            if self.config.req_time_cost > 0:
                cost = (perf_counter() - start) / self.config.req_time_cost
                self._rate_limiter.charge(client, max(0, cost - count))

    def _client(self, request: Request, key: Any) -> Client:
        if self._keys is None:
            return Client(network(request.client.host) if request.client else "", self.config.req_limit)
        if not isinstance(key, str) or not key:
            raise HTTPException(403, "an API key is needed: send it as api_key")
        if client := self._keys.client(key, self.config.req_limit):
            return client
        raise HTTPException(403, "the API key is not valid")

    def texts(self, value: str | list[str], name: str) -> list[str]:
        """The text or texts of a field, within the limits."""
        texts = value if isinstance(value, list) else [value]
        amounts = {"texts": len(texts), "characters": sum(map(len, texts))}
        limits = {"texts": self.config.batch_limit, "characters": self.config.char_limit}
        for unit, amount in amounts.items():
            if exceeds(amount, limits[unit]):
                raise HTTPException(400, f"{name} has {amount} {unit}; at most {limits[unit]} are allowed")
        return [well_formed(text) for text in texts]

    def prefix(self, value: str | None) -> str:
        """The text that a translation begins with, if any. It is output, and limited as such."""
        [text] = self.texts(value or "", "prefix")
        tokens = len(self.translator.tokenizers.target.encode(text))
        if exceeds(tokens, self.config.output_limit):
            what = f"{tokens} tokens are more than this server allows"
            raise UserError(what, "prefix", f"at most {self.config.output_limit}")
        return text

    def beam(self, n_best: int = 1) -> int:
        """The default beam size, or a larger one for more hypotheses, at most the limit."""
        beam, limit = max(DecodeConfig.beam, n_best), self.config.beam_limit
        return limit if exceeds(beam, limit) else beam

    def decode_config(self, asked: DecodeConfig) -> DecodeConfig:
        """The settings of a search alone, checked against the limits."""
        limits = self.config
        values = {name: getattr(asked, name) for name in DecodeConfig.names()}
        bounds = (
            ("beam", limits.beam_limit, 0),
            ("n_best", limits.alternatives_limit, 1),  # the best is not an alternative
            ("min_length", limits.output_limit, 0),
            ("max_length", limits.output_limit, 0),
        )
        problems = [
            Problem(f"{values[name]} is more than this server allows", name, f"at most {limit + extra}")
            for name, limit, extra in bounds
            if exceeds((values[name] or 0) - extra, limit)
        ]
        if problems:
            raise UserError(problems)
        if asked.max_length is None and exceeds(default_max_length(self.translator.length_limit), limits.output_limit):
            values["max_length"] = max(1, limits.output_limit)
        return DecodeConfig(**values)

    async def translate(self, request: Request, sources: Sequence[SourceText], options: Options) -> list[Translation]:
        """The translations of the texts of a request, which are one job."""
        finished = threading.Event()
        try:
            future = self.batcher.submit(Job(options, tuple(sources), lambda: not finished.is_set()))
            return await self._result(request, asyncio.wrap_future(future))
        finally:
            finished.set()

    async def _result(self, request: Request, work: asyncio.Future[Result]) -> Result:
        """The result of the work, unless the client disconnects or the time is up."""
        disconnect: asyncio.Future[Any] = asyncio.create_task(_disconnect(request))
        try:
            await asyncio.wait((work, disconnect), timeout=self.config.timeout, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if disconnect.done():
                raise HTTPException(CLIENT_CLOSED_REQUEST, "the client disconnected")
            raise TimedOutError(self.config.timeout)
        finally:
            disconnect.cancel()
            work.cancel()

    async def explain(self, request: Request, text: str, direction: Direction, target_text: str | None) -> str:
        """The trace of a translation, as JSON."""

        def start() -> Iterator[str]:
            from pellucid.tracing import explain

            yield explain(self.translator, text, *direction, target_text=target_text).to_json()

        async def read() -> str:
            [trace] = [trace async for trace in self.iterators.read(start, self.config.timeout)]
            return trace

        return await self._result(request, asyncio.create_task(read()))

    async def stream(self, source: SourceText, config: DecodeConfig) -> AsyncGenerator[str]:
        """The translation of a text, piece by piece."""
        start = partial(self.translator.stream, source.text, *source.direction, config)
        async with aclosing(self.iterators.read(start, self.config.timeout)) as pieces:
            async for piece in pieces:
                yield piece
        self._count([source], [])

    def _translate(self, options: Options, sources: list[SourceText], stop: Stop) -> list[Translation]:
        config, protect, split = options
        translations = self.translator.translate_all(sources, config, protect=protect, split=split, stop=stop)
        self._count(sources, translations)
        return translations

    def _count(self, sources: Sequence[SourceText], translations: Sequence[Translation]) -> None:
        self.metrics.texts.inc(len(sources))
        self.metrics.characters.inc(sum(len(source.text) for source in sources))
        self.metrics.tokens.inc(sum(len(translation.tokens) for translation in translations))


def service_of(request: Request) -> Service:
    """The service of the application that a request was sent to."""
    return cast(Service, request.app.state.service)


async def _disconnect(request: Request) -> None:
    """Returns when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
