"""What is translated, and with what: one file that the workers of all contenders read.

Runs inside the environments of the peers, so it needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    model: str  # directory with model.safetensors and tokenizer.json
    shape: dict[str, Any]  # its config.json
    float32: str  # the same weights in CTranslate2's form, not quantised
    source: str | None  # language codes, where the model has them
    target: str | None
    tag: list[str]  # tokens a source begins with
    texts: list[str]
    threads: int

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: str | Path) -> Job:
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))

    def keep_to_cores(self) -> None:
        """As many as there are threads: no contender gets more than the others."""
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: self.threads])

    def asked(self, request: dict[str, Any]) -> list[str]:
        """The texts of a request: all, or those at some places."""
        places = request.get("places")
        return self.texts if places is None else [self.texts[place] for place in places]


Translated = tuple[Sequence[str], Sequence[int]]
"""Texts, and of how many tokens each."""


def timed(translate: Callable[[dict[str, Any]], Translated], request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    began = time.perf_counter()
    texts, lengths = translate(request)
    return {"seconds": time.perf_counter() - began, "texts": texts, "lengths": lengths}
