"""Quick runs, each made once for all tests of a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from pellucid.labs import Result, lab


@cache
def _run(name: str, settings: tuple[tuple[str, Any], ...]) -> Result:
    return lab(name).run(quick=True, **dict(settings))


@pytest.fixture(scope="session")
def quick() -> Callable[..., Result]:
    """The result of a quick run: `quick("xor")`, `quick("xor", broken=True)`."""
    return lambda name, **settings: _run(name, tuple(settings.items()))
