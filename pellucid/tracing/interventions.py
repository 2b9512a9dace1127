"""Interventions: parts of a model switched off, source words swapped, target words forced. Each is a text, NAME=VALUE.

A switch puts another value in the place of one that passes a tap. It works on NumPy arrays and on torch's tensors
alike, so that `reference` and `pellucid.nn.attach(model, change=...)` compute the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.config import ModelConfig
from pellucid.errors import Problem, UserError, nearest
from pellucid.tracing.formulas.formula import SUBLAYERS, Stack
from pellucid.tracing.formulas.sublayers import stream_name

Seen = Mapping[str, Any]  # the values that passed before, by name
Change = Callable[[str, Any, Seen], Any]
WHERE = "intervene"
MOST = 100  # interventions of one request
UNIT = re.compile(r"(?:layers|head)\.\d+|[a-z_]+")
NAME = re.compile(rf"({UNIT.pattern})(\.({UNIT.pattern}))*")
WORD = re.compile(r"\w+")


def no_change(_name: str, value: Any, _seen: Seen) -> Any:
    """The model as it is."""
    return value


@dataclass(frozen=True)
class Switch:
    """A part that can be switched off: which value is replaced, and by what."""

    name: str
    value: str
    replace: Callable[[Any, Seen], Any]


@dataclass(frozen=True)
class Interventions:
    """What is changed in one pass."""

    given: tuple[str, ...] = ()  # as they were asked for
    switches: tuple[Switch, ...] = ()
    swaps: tuple[tuple[int, int], ...] = ()  # words of the source
    forced: tuple[tuple[int, str], ...] = ()  # words of the target

    def change(self, name: str, value: Any, seen: Seen) -> Any:
        """The value with which the model goes on."""
        for switch in self.switches:
            if switch.value == name:
                value = switch.replace(value, seen)
        return value

    @property
    def future(self) -> bool:
        """Whether a causal mask is off, so that a token changes those before it."""
        return any(switch.name.endswith(".mask") for switch in self.switches)

    def changed(self, value: str) -> tuple[str, ...]:
        """The names of the parts that are switched off by replacing a value."""
        products = value.replace(".scores", ".products")  # where nothing is masked these are one
        return tuple(each.name for each in self.switches if each.value in (value, products))

    def source(self, text: str) -> str:
        """The source text, its words swapped."""
        for first, second in self.swaps:
            found = list(WORD.finditer(text))
            a, b = found[min(first, second)], found[max(first, second)]
            text = text[: a.start()] + b[0] + text[a.end() : b.start()] + a[0] + text[b.end() :]
        return text

    def prefix(self, translation: str) -> str:
        """The translation up to the last word that is forced, the forced words in their places."""
        found, forced = list(WORD.finditer(translation)), dict(self.forced)
        prefix, start = "", 0
        for place in sorted(forced):
            prefix += translation[start : found[place].start()] + forced[place]
            start = found[place].end()
        return prefix


NO_INTERVENTIONS = Interventions()


def interventions(texts: Sequence[str], config: ModelConfig, source: str, target: str) -> Interventions:
    """What the texts ask for, checked against the model and the words of the sentence and its translation."""
    if len(texts) > MOST:
        raise UserError(f"{len(texts)} interventions are too many", WHERE, f"at most {MOST}")
    known = {switch.name: switch for switch in switches(config)}
    problems: list[Problem] = []
    off: set[str] = set()
    swaps: list[tuple[int, int]] = []
    forced: list[tuple[int, str]] = []
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            if name == "swap":
                swaps.append(_swap(text, value, source))
            elif name.startswith("target."):
                forced.append(_forced(text, name, value, target))
            elif not equals or value != "0":
                raise UserError(f"{text!r} is not an intervention", WHERE, "NAME=0, swap=0,1 or target.0=WORD")
            else:
                off |= _matching(name, known)
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)
    return Interventions(
        tuple(texts), tuple(switch for name, switch in known.items() if name in off), tuple(swaps), tuple(forced)
    )


def _swap(text: str, value: str, source: str) -> tuple[int, int]:
    count = len(WORD.findall(source))
    found = re.fullmatch(r"(\d+),(\d+)", value)
    if not found or max(map(int, found.groups())) >= count or found[1] == found[2]:
        raise UserError(
            f"{text!r} names no two words of the source", WHERE, f"two of its words, {_range(count)}: swap=0,1"
        )
    return int(found[1]), int(found[2])


def _forced(text: str, name: str, word: str, target: str) -> tuple[int, str]:
    count = len(WORD.findall(target))
    place = name.removeprefix("target.")
    if not re.fullmatch(r"\d+", place) or int(place) >= count or not word.strip():
        remedy = f"one of its words, {_range(count)}, and what it should be: target.0=WORD"
        raise UserError(f"{text!r} names no word of the translation", WHERE, remedy)
    return int(place), word.strip()


def _range(count: int) -> str:
    return f"0 to {count - 1}" if count else "of which there are none"


def _matching(name: str, known: Mapping[str, Switch]) -> set[str]:
    """The switches of that name. What is left out of a name stands for every one there is."""
    whole = re.sub(r"^(encoder|decoder)\.(\d)", r"\1.layers.\2", name)
    units = UNIT.findall(whole) if NAME.fullmatch(whole) else []
    found = {each for each in known if _names(units, UNIT.findall(each))}
    if not found:
        raise UserError(f"the model has no part {name!r} to switch off", WHERE, nearest(name, known))
    return found


def _names(given: Sequence[str], full: Sequence[str]) -> bool:
    """Whether the units stand in the full name in their order, and end it."""
    rest = iter(full)
    return bool(given) and given[-1] == full[-1] and all(unit in rest for unit in given)


def switches(config: ModelConfig) -> Iterator[Switch]:
    """Every part of the model that can be switched off. Where several replace one value, the later one decides."""
    counts: dict[Stack, int] = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    for stack, layers in counts.items():
        yield from _input(config, stack)
        for layer in range(layers):
            for at, sublayer in enumerate(SUBLAYERS[stack]):
                name = f"{stack}.layers.{layer}.{sublayer}"
                if sublayer != "feed_forward":
                    yield from _attention(config, name)
                yield Switch(name, f"{name}.output", _zero)
                yield from _residual(config, stack, name, len(SUBLAYERS[stack]) * layer + at)
            ends = [stream_name(config, stack, len(SUBLAYERS[stack]) * (layer + each)) for each in (0, 1)]
            yield Switch(f"{stack}.layers.{layer}", ends[1], _instead(ends[0]))
        if config.norm_place == "pre":
            last = stream_name(config, stack, len(SUBLAYERS[stack]) * layers)
            yield Switch(f"{stack}.output.norm", f"{stack}.output", _instead(last))


def _input(config: ModelConfig, stack: Stack) -> Iterator[Switch]:
    embedding, position = f"{stack}.input.embedding", f"{stack}.input.position"
    added = config.positions in ("sinusoidal", "learned")
    if config.positions != "none":
        yield Switch(f"{stack}.positions", position if added else f"{stack}.angles", _zero)
    if config.embedding_norm:
        total = _sum(embedding, position) if added else _instead(embedding)
        yield Switch(f"{stack}.input.norm", f"{stack}.input.output", total)


def _attention(config: ModelConfig, name: str) -> Iterator[Switch]:
    for head in range(config.heads):
        yield Switch(f"{name}.head.{head}", f"{name}.heads", _without_head(head))
    yield Switch(f"{name}.scale", f"{name}.products", lambda products, _: products * config.d_head**0.5)
    if name.startswith("decoder") and name.endswith("self_attention"):
        yield Switch(f"{name}.mask", f"{name}.scores", _instead(f"{name}.products"))


def _residual(config: ModelConfig, stack: Stack, name: str, number: int) -> Iterator[Switch]:
    residual, pre = f"{name}_residual", config.norm_place == "pre"
    yield Switch(f"{name}.residual", f"{residual}.sum", _instead(f"{name}.output"))
    before = stream_name(config, stack, number) if pre else f"{residual}.sum"
    yield Switch(f"{name}.norm", f"{residual}.norm", _instead(before))


def _zero(value: Any, _seen: Seen) -> Any:
    return value - value


def _instead(name: str) -> Callable[[Any, Seen], Any]:
    """Another value, which passed before. In a step of a search the two may differ in which axis is the beam."""
    return lambda value, seen: seen[name].reshape(value.shape)


def _sum(*names: str) -> Callable[[Any, Seen], Any]:
    return lambda _, seen: sum(seen[name] for name in names)


def _without_head(head: int) -> Callable[[Any, Seen], Any]:
    def replace(heads: Any, _seen: Seen) -> Any:
        heads = heads + 0  # a copy
        heads[:, head] = 0
        return heads

    return replace
