"""Look inside a running model: attach to named values, record them, detach.

    with attach(model, "encoder.layers.0.*") as record:
        model(source, source_real, target_in)
    record["encoder.layers.0.self_attention.weights"]  # a list, one entry for every time the value passed

A name is the module's place in the model and the value's name in it; `names(model)` lists all of them.
`pellucid.reference` records the same values under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase

from torch import Tensor, nn

from pellucid.errors import UserError, nearest

Tap = Callable[[str, Tensor], None]


class Tapped(nn.Module):
    """A module that can show the values passing through it. Detached, `tap` is None and a pass costs one comparison."""

    tap_names: tuple[str, ...] = ()
    tap: Tap | None = None

    def show(self, name: str, value: Tensor) -> None:
        if self.tap is not None:
            self.tap(name, value)


def names(model: nn.Module) -> list[str]:
    """Every value that can be recorded."""
    return [_full(place, name) for place, module in _tapped(model) for name in module.tap_names]


@contextmanager
def attach(model: nn.Module, *patterns: str) -> Iterator[dict[str, list[Tensor]]]:
    """Record the values whose names match one of the patterns (`*` for any text); without a pattern, all."""
    patterns = patterns or ("*",)
    known = names(model)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UserError(f"no value is called {pattern!r}", "taps", nearest(pattern, known))
    record: dict[str, list[Tensor]] = {}
    listening = []
    for place, module in _tapped(model):
        wanted = {
            name: _full(place, name)
            for name in module.tap_names
            if any(fnmatchcase(_full(place, name), pattern) for pattern in patterns)
        }
        if wanted:
            module.tap = _recorder(record, wanted)
            listening.append(module)
    try:
        yield record
    finally:
        for module in listening:
            module.tap = None


def _recorder(record: dict[str, list[Tensor]], wanted: dict[str, str]) -> Tap:
    def tap(name: str, value: Tensor) -> None:
        if name in wanted:
            record.setdefault(wanted[name], []).append(value.detach())

    return tap


def _tapped(model: nn.Module) -> Iterator[tuple[str, Tapped]]:
    return ((place, module) for place, module in model.named_modules() if isinstance(module, Tapped))


def _full(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
