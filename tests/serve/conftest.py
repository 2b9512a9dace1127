"""A small model with random weights, and a real server for it on a free port of this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
import pytest
import uvicorn
from safetensors.numpy import save_file

from pellucid.config import DecodeConfig, ModelConfig, ServeConfig
from pellucid.decode.hypotheses import Stop
from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Translator, load
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.shapes import weight_shapes
from pellucid.serve.app import create_app
from pellucid.serve.connections import Connection
from pellucid.serve.run import listen
from pellucid.text.language_identifier import LanguageIdentifier
from pellucid.text.tokenizer import END, Tokenizer, Tokenizers

ENGLISH = ["the cat sat on the mat", "a dog ran to the house", "we see the old tree by the river", "it is cold today"]
GERMAN = ["die Katze lag auf der Matte", "ein Hund lief zum Haus", "wir sehen den Baum am Fluss", "heute ist es kalt"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELLUCID_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English and German, both ways."""
    both = LanguageIdentifier.learn({"en": ENGLISH, "de": GERMAN}, [("en", "de"), ("de", "en")])
    return _write(tmp_path_factory.mktemp("model"), both, ("en", "de"))


@pytest.fixture(scope="session")
def model_without_codes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("model"), LanguageIdentifier(), ())


def _write(directory: Path, languages: LanguageIdentifier, codes: Sequence[str]) -> Path:
    tokenizer = Tokenizer.learn(3 * (ENGLISH + GERMAN), 300, languages=tuple(codes))
    config = ModelConfig(
        vocabulary=len(tokenizer), d_model=32, heads=4, feed_forward=48, encoder_layers=1, decoder_layers=1,
        output_bias=True,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    weights = {
        name: (rng.normal(size=shape) * shape[-1] ** -0.5 * (2 if "embedding" in name else 1)).astype(np.float32)
        for name, shape in weight_shapes(config).items()
    }
    weights["output.bias"][END] += 5  # so that sentences end
    save_file(weights, directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(config.to_dict()), encoding="utf-8")
    Tokenizers(tokenizer, tokenizer).save(directory)
    languages.save(directory / "languages.json")
    return directory


@pytest.fixture
def translator(model: Path) -> Translator:
    return load(model)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Requests to one server, each over a connection of its own."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=60)

    def send(
        self, method: str, path: str, body: bytes | str | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        with closing(self.connect()) as connection:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, values: Any, headers: dict[str, str] | None = None) -> Answer:
        return self.send("POST", path, json.dumps(values), {"Content-Type": "application/json", **(headers or {})})

    def form(self, path: str, values: Any) -> Answer:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.send("POST", path, urlencode(values, doseq=True), kind)

    def raw(self, data: bytes) -> socket.socket:
        """A connection over which some bytes were sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(data)
        return connection


class Running(NamedTuple):
    client: Client
    stop: Callable[[], None]  # asks the server to end
    thread: threading.Thread


@contextmanager
def running(translator: Translator, **settings: Any) -> Iterator[Running]:
    """A real server in a thread."""
    config = ServeConfig(**{"req_limit": -1, **settings})
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        app = create_app(translator, config)
        server = uvicorn.Server(uvicorn.Config(app, http=Connection, ws="none", log_config=None, access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()

        def stop() -> None:
            server.should_exit = True

        try:
            yield Running(Client(port), stop, thread)
        finally:
            stop()
            thread.join()


Serve = Callable[..., Client]


@pytest.fixture
def serve(translator: Translator) -> Iterator[Serve]:
    """A client of a server with the settings given; it ends with the test."""
    with ExitStack() as stack:

        def start(model: Translator | None = None, **settings: Any) -> Client:
            return stack.enter_context(running(model or translator, **settings)).client

        yield start


@pytest.fixture
def serve_until_stopped() -> Iterator[Callable[..., Running]]:
    """A server that the test ends itself."""
    with ExitStack() as stack:
        yield lambda translator, **settings: stack.enter_context(running(translator, **settings))


@pytest.fixture(scope="session")
def shared(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server with the limits as they come, but for the number of requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PELLUCID_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        with running(load(model)) as server:
            yield server.client


class Held(Translator):
    """A translator that waits until a test releases it."""

    def __init__(self, directory: ModelDirectory) -> None:
        super().__init__(directory)
        self.released = threading.Event()
        self.begun: list[list[str]] = []

    def translate_all(
        self,
        sources: Sequence[SourceText],
        config: DecodeConfig | None = None,
        *,
        protect: bool = False,
        split: bool | None = None,
        stop: Stop | None = None,
    ) -> list[Translation]:
        self.begun.append([source.text for source in sources])
        assert self.released.wait(60)
        return super().translate_all(sources, config, protect=protect, split=split, stop=stop)


@pytest.fixture
def held(model: Path) -> Iterator[Held]:
    translator = Held(ModelDirectory(model))
    yield translator
    translator.released.set()
