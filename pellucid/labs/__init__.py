"""Labs: every claim of the study notes measured, with a verdict that can go against it. One file a claim.

`lab("xor").run(seed=1, quick=True).verdict`; results of full runs are in `data/`; viewing them needs no torch.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from pathlib import Path

from pellucid.errors import UserError, nearest
from pellucid.labs.parts.lab import Lab, Progress, Result

__all__ = ["NAMES", "Lab", "Progress", "Result", "committed", "lab"]

# In the order of the claims.
NAMES = (
    "xor",
    "collapse",
    "gradients",
    "residuals",
    "recurrence",
    "embeddings",
    "order",
    "positions",
    "lookup",
    "scaling",
    "diagonal",
    "heads",
    "cross",
    "mask",
    "feed-forward",
    "norms",
    "tasks",
    "forcing",
    "cache",
    "decoding",
)  # fmt: skip
DATA = Path(__file__).parent / "data"


def lab(name: str) -> Lab:
    """The lab of that name."""
    if name not in NAMES:
        raise UserError(f"there is no lab called {name!r}", "", nearest(name, NAMES))
    found: Lab = import_module(f"pellucid.labs.{name.replace('-', '_')}").LAB
    return found


@cache
def committed(name: str) -> Result:
    """The result of the full run that comes with the project."""
    read = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return Result(lab(name), read["settings"], read["data"], read["seconds"], read.get("remark", ""))
