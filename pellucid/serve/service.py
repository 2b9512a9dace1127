"""What the endpoints share: API keys and limits, and the path of a text through the queue and back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from functools import lru_cache, partial
from math import ceil
from pathlib import Path
from typing import Any, TypeVar, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request

from pellucid.config import DecodeConfig
from pellucid.config.serve import ServeConfig, exceeds
from pellucid.cores import cores
from pellucid.decode.hypotheses import Stop, default_max_length
from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Translator
from pellucid.errors import Problem, UserError, counted, nearest
from pellucid.model_directory.snapshots import Snapshots
from pellucid.serve.clients import ApiKeys, Client, RateLimiter, network
from pellucid.serve.languages import Languages
from pellucid.serve.middleware import CLIENT_CLOSED_REQUEST
from pellucid.serve.prometheus import ServiceMetrics
from pellucid.serve.requests import Body
from pellucid.serve.work.batcher import Batcher, Job, Options
from pellucid.serve.work.cpu_meter import CpuMeter
from pellucid.serve.work.iterators import IteratorPool, Task, TimedOutError
from pellucid.text.unicode import well_formed

WRONG_KEYS = 20  # per minute and address; then every key from there has to wait
CLOSING = 2  # seconds for work to notice that it is not wanted any more
MODELS_AT_STEPS = 4  # models of single steps that are kept open
EXPLAIN_TOKENS = 4096  # an explanation costs about as much as a search of so many tokens

Result = TypeVar("Result")
AnyBody = TypeVar("AnyBody", bound=Body)


class Service:
    def __init__(self, translator: Translator, config: ServeConfig) -> None:
        self.translator = translator
        self.config = config
        self.languages = Languages(translator)
        self.metrics = ServiceMetrics(lambda: self.batcher.unfinished + self.iterators.unfinished)
        threads = config.threads or cores() + 1
        meter = CpuMeter()
        self.batcher = Batcher(self._translate, threads, config.queue_limit, self.metrics.batches.observe, meter)
        self.iterators = IteratorPool(threads, config.queue_limit, meter)
        self._keys = ApiKeys.read(Path(config.api_keys)) if config.api_keys else None
        self._rate_limiter = RateLimiter()
        self.lab = threading.Lock()  # held by the one lab that runs
        own = Snapshots.beside(translator.directory.path)  # of the run that the model belongs to
        self.runs = {own.run: own} if own else {}
        for name, snapshots in Snapshots.shipped().items():
            self.runs.setdefault(name, snapshots)
        self._model_at = lru_cache(MODELS_AT_STEPS)(self._open_at)

    def close(self) -> None:
        """Finish the accepted requests. Whose client is not there any more, they are stopped."""
        self.batcher.close(CLOSING)
        self.iterators.close(CLOSING)

    async def receive(self, request: Request, kind: type[AnyBody], **defaults: Any) -> AnyBody:
        """The body of a request. API key and rate limit are checked before it is parsed."""
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
        request.state.client, request.state.count = client, count
        return kind.parse(values, **defaults)

    def _charge(self, request: Request, seconds: float) -> None:
        """Charge the CPU time of a request, where it is more than what its texts were charged."""
        if self.config.req_time_cost > 0:
            cost = seconds / self.config.req_time_cost - request.state.count
            self._rate_limiter.charge(request.state.client, max(0, cost))

    def _client(self, request: Request, key: Any) -> Client:
        address = network(request.client.host, self.config.ipv6_prefix) if request.client else ""
        if self._keys is None:
            return Client(address, self.config.req_limit)
        if not isinstance(key, str) or not key:
            raise HTTPException(403, "an API key is needed: send it as api_key")
        guesses = Client(f"wrong keys of {address}", WRONG_KEYS)
        if seconds := ceil(self._rate_limiter.retry_after(guesses)):
            message = f"too many wrong API keys came from this address (try again in {seconds} s)"
            raise HTTPException(429, message, {"Retry-After": str(seconds)})
        if client := self._keys.client(key, self.config.req_limit):
            return client
        self._rate_limiter.charge(guesses, 1)
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
        tokens = await asyncio.to_thread(self._search_tokens, sources, options.config, options.split)
        charge = partial(self._charge, request)
        client = request.state.client.name
        try:
            future = self.batcher.submit(
                Job(options, tuple(sources), client, tokens, lambda: not finished.is_set(), charge)
            )
            return await self._result(request, asyncio.wrap_future(future))
        finally:
            finished.set()

    def _search_tokens(self, sources: Sequence[SourceText], config: DecodeConfig, split: bool | None = None) -> int:
        """How many tokens are searched for the texts at most, if that is within the limit."""
        tokens, limit = self.translator.search_tokens(sources, config, split), self.config.search_limit
        if exceeds(tokens, limit):
            what = f"the search may take {tokens:,} tokens (hypotheses × maximum length); at most {limit:,} are allowed"
            raise HTTPException(400, f"{what}: send less text, or lower beam, n_best or max_length")
        return max(1, tokens)

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

    def snapshots(self, run: str) -> Snapshots:
        """Those of a run by its name: a request names no file."""
        if run not in self.runs:
            raise UserError(f"no run {run!r} with snapshots", "run", nearest(run, self.runs))
        return self.runs[run]

    def translator_of(self, run: str | None, step: int | None) -> Translator:
        """The model that is served, or that of a step of a run."""
        return self.translator if run is None or step is None else self._model_at(run, step)

    def _open_at(self, run: str, step: int) -> Translator:
        return Translator(self.snapshots(run).at(step), "reference")

    async def explain(self, request: Request, answer: Callable[[], str]) -> str:
        """What `answer` computes of a trace, as JSON."""

        def start() -> Iterator[str]:
            yield answer()

        async def read() -> str:
            task = Task(start, request.state.client.name, EXPLAIN_TOKENS, partial(self._charge, request))
            [trace] = [trace async for trace in self.iterators.read(task, self.config.timeout)]
            return cast(str, trace)

        return await self._result(request, asyncio.create_task(read()))

    def learning_task(self, request: Request, watch: Callable[[], Iterator[Any]], snapshots: int) -> Task:
        """The task of looking at a sentence in so many snapshots."""
        return Task(watch, request.state.client.name, snapshots * EXPLAIN_TOKENS, partial(self._charge, request))

    async def stream_task(self, request: Request, source: SourceText, config: DecodeConfig) -> Task:
        """The task of translating a text piece by piece, if it is within the limits."""
        start = partial(self.translator.stream, source.text, *source.direction, config)
        tokens = await asyncio.to_thread(self._search_tokens, [source], config)
        return Task(start, request.state.client.name, tokens, partial(self._charge, request))

    async def stream(self, source: SourceText, task: Task) -> AsyncGenerator[str]:
        """The translation of a text, piece by piece."""
        async with aclosing(self.iterators.read(task, self.config.timeout)) as pieces:
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
