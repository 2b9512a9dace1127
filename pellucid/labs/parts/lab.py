"""The shape of a lab: a claim, how it is measured, and a verdict by a criterion that was fixed before the run.

A lab measures first, and its data is plain JSON. The verdict and the figures are pure functions of the data: what is
committed can be viewed and decided again without a run, and cannot disagree with itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from math import floor, isfinite, log10
from time import process_time
from typing import Any, Literal, NamedTuple, TypeVar

from pellucid.errors import UserError
from pellucid.fields import Config, setting

Data = dict[str, Any]
"""What a lab measured, as plain JSON. What a clock measured is under "timing": the rest follows from the seed."""

DIGITS = 6  # significant ones that data is kept with
T = TypeVar("T")


class Progress(NamedTuple):
    """How much of a run is done, from 0 to 1, and perhaps a point of its live curve."""

    done: float
    curve: str = ""
    x: float = 0.0
    y: float = 0.0


Steps = Generator[Progress, None, T]
"""Work that yields its progress and returns a T: `losses = yield from train(...)`. To cancel it is to close it."""


class Verdict(NamedTuple):
    outcome: Literal["shown", "refuted", "not decided"]
    sentence: str  # what was measured, for a student


class LabConfig(Config):
    """The settings that every lab has. A lab adds its own."""

    seed: int = setting(1, "seed of the first repetition; the next ones count on from it", minimum=0, maximum=1_000_000)
    seeds: int = setting(5, "repetitions, each with a seed of its own", minimum=1, maximum=20)
    broken: bool = setting(False, "break the subject of the experiment: the verdict should change")

    @property
    def all_seeds(self) -> list[int]:
        return list(range(self.seed, self.seed + self.seeds))


@dataclass(frozen=True)
class Lab:
    name: str
    claims: str  # as they are numbered, such as "C3, C14"
    title: str
    question: str
    notes: str  # what study notes say about it
    method: str
    criterion: str  # when the claim counts as shown, fixed before the run
    refuted_by: str  # what would have refuted it
    broken: str  # what `broken` does to the subject
    settings: type[LabConfig]
    quick: dict[str, Any]  # the settings of a run of a few seconds
    live: tuple[str, str]  # what the live curve shows: x and y
    measure: Callable[[Any], Steps[Data]]
    decide: Callable[[Data], Verdict]
    draw: Callable[[Data], list[dict[str, Any]]]
    needs_torch: bool = False

    def configure(self, quick: bool = False, **given: Any) -> LabConfig:
        """The settings of a run; a `UserError` lists all that are wrong."""
        return self.settings(**((self.quick if quick else {}) | given))

    def steps(self, config: LabConfig) -> Iterator[Progress | Result]:
        """A run: its progress and, as the last item, its result. Closing the iterator cancels the run."""
        with ExitStack() as stack:
            if self.needs_torch:
                stack.enter_context(_one_torch_thread(self.name))
            start = process_time()
            data = yield from self.measure(config)
            yield Result(self, config.to_dict(), _checked(rounded(data)), round(process_time() - start, 1))

    def run(self, seed: int = 1, quick: bool = False, **given: Any) -> Result:
        """Run to the end."""
        *_, result = self.steps(self.configure(quick, seed=seed, **given))
        assert isinstance(result, Result)
        return result


@dataclass(frozen=True)
class Result:
    lab: Lab
    settings: dict[str, Any]
    data: Data
    seconds: float  # of CPU time that the run took
    remark: str = ""  # on how it was run

    @property
    def verdict(self) -> Verdict:
        return self.lab.decide(self.data)

    @property
    def command(self) -> str:
        """The command that measures this again."""
        declared = self.lab.settings.settings()
        own = [(declared[name], value) for name, value in self.settings.items() if value != declared[name].default]
        flags = [each.flag if value is True else f"{each.flag} {value}" for each, value in own]
        return " ".join(["pellucid lab", self.lab.name, *flags])

    def to_dict(self) -> dict[str, Any]:
        """As a file keeps it: what was measured, and how."""
        remark = {"remark": self.remark} if self.remark else {}
        return {
            "lab": self.lab.name, "settings": self.settings, "seconds": self.seconds, **remark, "data": self.data
        }  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """As the page shows it: the verdict and the figures."""
        return {
            "settings": self.settings,
            "seconds": self.seconds,
            "remark": self.remark,
            "command": self.command,
            "verdict": self.verdict._asdict(),
            "figures": self.lab.draw(self.data),
        }


def rounded(value: Any) -> Any:
    """Floats with `DIGITS` significant digits, in lists and dicts too."""
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, float) and value and isfinite(value):
        return round(value, DIGITS - 1 - floor(log10(abs(value))))
    return value


def _checked(data: Data) -> Data:
    """The data as it will be read back from a file. Anything but plain JSON is a mistake of the lab."""
    read: Data = json.loads(json.dumps(data, allow_nan=False))
    if read != data:
        raise TypeError("the data of a lab is not plain JSON: are its keys strings?")
    return read


def _one_torch_thread(name: str) -> Any:
    """Sums are then added in one order, so that every machine with these kernels measures the same digits."""
    if find_spec("torch") is None:
        remedy = f"pip install 'pellucid[train]'; its committed data can be viewed without: pellucid lab {name} --show"
        raise UserError("runs need torch, which is not installed", name, remedy)
    from pellucid.nn.threads import threads

    return threads(1)
