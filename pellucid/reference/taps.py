"""Taps of the reference: a function that every intermediate value passes through under its name."""

from __future__ import annotations

from collections.abc import Callable

from pellucid.reference.functions import Array

Tap = Callable[[str, Array], Array]  # returns the value with which the model goes on: the same, or another


def no_tap(_name: str, value: Array) -> Array:
    """The tap of a pass whose values are not needed."""
    return value


def within(tap: Tap, place: str) -> Tap:
    """A tap whose names stand below `place`."""
    return tap if tap is no_tap else lambda name, value: tap(f"{place}.{name}", value)


def recording(values: dict[str, Array]) -> Tap:
    """A tap that stores every value in `values` and changes none."""

    def tap(name: str, value: Array) -> Array:
        values[name] = value
        return value

    return tap
