"""Look inside a running model: attach to named values, record them, change them, detach.

    with attach(model, "encoder.layers.0.*") as record:
        model(source, source_real, target_in)
    record["encoder.layers.0.self_attention.weights"]  # a list, one entry for every time the value passed

A name is the module's place in the model and the value's name in it; `names(model)` lists all of them.
The values of `pellucid.reference` pass through its taps under the same names. With `change`, a function of a value's
name, the value, and those that passed before it, the model goes on with what that function returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase

from torch import Tensor, nn

from pellucid.errors import UserError, nearest

Tap = Callable[[str, Tensor], Tensor]
Change = Callable[[str, Tensor, Mapping[str, Tensor]], Tensor]


class Tapped(nn.Module):
    """A module whose values can be seen and changed. Detached, `tap` is None and a value costs one comparison."""

    tap_names: tuple[str, ...] = ()
    tap: Tap | None = None

    def show(self, name: str, value: Tensor) -> Tensor:
        return value if self.tap is None else self.tap(name, value)


def names(model: nn.Module) -> list[str]:
    """Every value that can be recorded."""
    return [_full(place, name) for place, module in _tapped(model) for name in module.tap_names]


@contextmanager
def attach(model: nn.Module, *patterns: str, change: Change | None = None) -> Iterator[dict[str, list[Tensor]]]:
    """Record the values whose names match one of the patterns (`*` for any text); without a pattern, all."""
    patterns = patterns or ("*",)
    known = names(model)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UserError(f"no value is called {pattern!r}", "taps", nearest(pattern, known))
    wanted = {name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)}
    record: dict[str, list[Tensor]] = {}
    seen: dict[str, Tensor] = {}  # for `change`: the last value of every name
    listening = []
    for place, module in _tapped(model):
        if change is not None or any(_full(place, name) in wanted for name in module.tap_names):
            module.tap = _tap(place, wanted, record, change, seen)
            listening.append(module)
    try:
        yield record
    finally:
        for module in listening:
            module.tap = None


def _tap(
    place: str,
    wanted: set[str],
    record: dict[str, list[Tensor]],
    change: Change | None,
    seen: dict[str, Tensor],
) -> Tap:
    def tap(name: str, value: Tensor) -> Tensor:
        name = _full(place, name)
        if change is not None:
            value = seen[name] = change(name, value, seen)
        if name in wanted:
            record.setdefault(name, []).append(value.detach())
        return value

    return tap


def _tapped(model: nn.Module) -> Iterator[tuple[str, Tapped]]:
    return ((place, module) for place, module in model.named_modules() if isinstance(module, Tapped))


def _full(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
