"""What the endpoints share: who may ask, what may be asked, and the way through the batcher and back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from fastapi import HTTPException, Request

from pellucid.config import DecodeConfig
from pellucid.config.serve import ServeConfig, exceeds
from pellucid.cores import cores
from pellucid.decode.hypotheses import default_max_length
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Stop, Translator
from pellucid.errors import Problem, UserError, counted
from pellucid.serve.batcher import Batcher, BusyError, Job, Options
from pellucid.serve.clients import Allowance, ApiKeys, Client, network
from pellucid.serve.gate import GONE
from pellucid.serve.languages import Languages
from pellucid.serve.metrics import Metrics
from pellucid.serve.streams import Streams
from pellucid.text.unicode import well_formed

Result = TypeVar("Result")


class Service:
    def __init__(self, translator: Translator, config: ServeConfig) -> None:
        self.translator = translator
        self.config = config
        self.languages = Languages(translator)
        self.metrics = Metrics(lambda: self.batcher.unfinished + self.streams.unfinished)
        threads = config.threads or cores()
        self.batcher = Batcher(self._translate, threads, config.queue_limit, self.metrics.batches.observe)
        self.streams = Streams(threads, config.queue_limit)
        self._keys = ApiKeys.read(Path(config.api_keys)) if config.api_keys else None
        self._allowance = Allowance()

    def close(self) -> None:
        """Finish what was accepted."""
        self.batcher.close()
        self.streams.close()

    @asynccontextmanager
    async def admitted(self, request: Request, key: Any, asked: Any) -> AsyncIterator[None]:
        """Around the work of a request: the client's key and allowance are checked, and what it cost is counted."""
        client = self._client(request, key)
        texts = (
            max(1, len(asked)) if isinstance(asked, list) and not exceeds(len(asked), self.config.batch_limit) else 1
        )
        wait = self._allowance.wait(client)
        if wait:
            seconds = ceil(wait)
            allowed = counted(client.req_limit, "request")
            what = f"slow down: no more than {allowed} a minute (try again in {seconds} s)"
            raise HTTPException(429, what, {"Retry-After": str(seconds)})
        self._allowance.spend(client, texts)
        start = perf_counter()
        try:
            yield
        finally:
            if self.config.req_time_cost > 0:
                cost = (perf_counter() - start) / self.config.req_time_cost
                self._allowance.spend(client, max(0, cost - texts))

    def _client(self, request: Request, key: Any) -> Client:
        if self._keys is None:
            return Client(network(request.client.host) if request.client else "", self.config.req_limit)
        if not isinstance(key, str) or not key:
            raise HTTPException(403, "an API key is needed: send it as api_key")
        client = self._keys.client(key, self.config.req_limit)
        if client is None:
            raise HTTPException(403, "the API key is not valid")
        return client

    def texts(self, value: Any, name: str, purpose: str = "to translate") -> list[str]:
        """The text or texts of a request, within the limits."""
        if not value:
            raise HTTPException(400, f"missing {name}: the text {purpose}")
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in texts):
            raise HTTPException(400, f"{name} is neither a string nor a list of strings")
        limits = self.config
        if exceeds(len(texts), limits.batch_limit):
            raise HTTPException(400, f"{name} has {len(texts)} texts; at most {limits.batch_limit} are allowed")
        characters = sum(map(len, texts))
        if exceeds(characters, limits.char_limit):
            raise HTTPException(400, f"{name} has {characters} characters; at most {limits.char_limit} are allowed")
        return [well_formed(text) for text in texts]

    def prefix(self, value: Any) -> str:
        """What a translation must begin with, if anything. It is output, and limited as such."""
        if not value:
            return ""
        [text, *_] = self.texts(value, "prefix")
        tokens = len(self.translator.tokenizers.target.encode(text))
        if exceeds(tokens, self.config.output_limit):
            what = f"{tokens} tokens are more than this server allows"
            raise UserError(what, "prefix", f"at most {self.config.output_limit}")
        return text

    def beam(self, least: int = 1) -> int:
        """The usual beam, or a wider one where so many hypotheses are asked for, as far as the limit goes."""
        wide, limit = max(DecodeConfig.beam, least), self.config.beam_limit
        return limit if exceeds(wide, limit) else wide

    def decoding(self, values: dict[str, Any]) -> DecodeConfig:
        """The settings of a search, within the limits."""
        config, limits = DecodeConfig(**{"beam": self.beam(), **values}), self.config
        bounds = (
            ("beam", config.beam, limits.beam_limit),
            ("n_best", config.n_best - 1, limits.alternatives_limit),
            ("min_length", config.min_length, limits.output_limit),
            ("max_length", config.max_length or 0, limits.output_limit),
        )
        problems = [
            Problem(
                f"{getattr(config, name)} is more than this server allows",
                name,
                f"at most {limit + (name == 'n_best')}",
            )
            for name, amount, limit in bounds
            if exceeds(amount, limit)
        ]
        if problems:
            raise UserError(problems)
        if config.max_length is None and exceeds(default_max_length(self.translator.length_limit), limits.output_limit):
            return config.changed(max_length=max(1, limits.output_limit))
        return config

    async def translate(
        self, request: Request, wanted: Sequence[tuple[Options, Sequence[str]]], prefix: str = ""
    ) -> list[list[Translation]]:
        """For each of the texts that are wanted in some way, the translations. A job is made for every way."""
        ways: dict[Options, list[str]] = {}
        for options, texts in wanted:
            ways.setdefault(options, []).extend(texts)
        given_up = threading.Event()
        jobs = [Job(options, tuple(texts), prefix, lambda: not given_up.is_set()) for options, texts in ways.items()]
        try:
            found = dict(zip(ways, map(iter, await self._answers(request, jobs)), strict=True))
        finally:
            given_up.set()
        return [[next(found[options]) for _ in texts] for options, texts in wanted]

    async def _answers(self, request: Request, jobs: Sequence[Job]) -> list[list[Translation]]:
        """What the batcher makes of jobs."""
        try:
            futures = self.batcher.submit(jobs)
        except BusyError:
            raise busy() from None
        return await self._awaited(request, asyncio.gather(*map(asyncio.wrap_future, futures)))

    async def _awaited(self, request: Request, work: asyncio.Future[Result]) -> Result:
        """What comes of the work, unless the client leaves, or it takes too long."""
        gone: asyncio.Future[Any] = asyncio.create_task(_left(request))
        try:
            await asyncio.wait((work, gone), timeout=self.config.timeout, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if gone.done():
                raise HTTPException(GONE, "the client left")
            raise too_slow(self.config)
        finally:
            gone.cancel()
            work.cancel()

    async def explain(self, request: Request, text: str, options: Options, target_text: str | None) -> str:
        """The trace of a translation, as JSON."""

        def start() -> Iterator[str]:
            from pellucid.tracing import explain

            trace = explain(self.translator, text, options.source, options.target, target_text=target_text)
            yield trace.to_json()

        async def read() -> str:
            [trace] = [trace async for trace in self.streams.read(start, self.config.timeout)]
            return trace

        try:
            return await self._awaited(request, asyncio.create_task(read()))
        except BusyError:
            raise busy() from None
        except TimeoutError:
            raise too_slow(self.config) from None

    async def stream(self, text: str, options: Options) -> AsyncGenerator[str]:
        """The translation of a text, piece by piece."""

        def start() -> Iterator[str]:
            return self.translator.stream(text, options.source, options.target, options.config)

        async with aclosing(self.streams.read(start, self.config.timeout)) as pieces:
            async for piece in pieces:
                yield piece
        self._count([text], [])

    def _translate(self, options: Options, texts: list[str], prefixes: list[str], stop: Stop) -> list[Translation]:
        source, target, config, protect, split = options
        sources = self.translator.source_texts(texts, source, target, prefixes)
        translations = self.translator.translate_all(sources, config, protect=protect, split=split, stop=stop)
        self._count(texts, translations)
        return translations

    def _count(self, texts: Sequence[str], translations: Sequence[Translation]) -> None:
        self.metrics.texts.add(len(texts))
        self.metrics.characters.add(sum(map(len, texts)))
        self.metrics.tokens.add(sum(len(translation.tokens) for translation in translations))


def busy() -> HTTPException:
    return HTTPException(503, "the server has as much to do as it takes: try again soon", {"Retry-After": "1"})


def too_slow(config: ServeConfig) -> HTTPException:
    return HTTPException(503, f"the translation took longer than {config.timeout:g} s", {"Retry-After": "1"})


async def _left(request: Request) -> None:
    """Returns when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
