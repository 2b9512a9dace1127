"""How a model learned a sentence, in the terminal: a row for every step of which the run kept a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from pellucid.terminal.encoding import printable
from pellucid.terminal.trace import BLOCKS, fitted, section, shade
from pellucid.tracing.learning import Learning, Moment
from pellucid.tracing.trace import Token

Cell = Callable[[Moment, int], Text]  # of a place in the target
CELL = 6  # terminal cells of a token
LEFT = 16  # cells of the step and the loss beside the tokens


def print_learning(learning: Learning, console: Console) -> None:
    for block in _blocks(learning, console.width):
        console.print(printable(block, console))


def _blocks(learning: Learning, width: int) -> Iterator[RenderableType]:
    watched, moments = learning.watched, learning.moments
    last = learning.at(moments[-1].step)
    origin = "given" if watched.given else "what the last snapshot says"
    yield Text.assemble((last.text, "bold"), ("  →  ", "dim"), (last.translation, "bold"))
    yield Text(f"run {watched.snapshots.run}, {len(moments)} snapshots; the target is {origin}", "dim")
    yield section("Translations", "by beam search; loss: cross-entropy of the target, nats per token")
    yield _translations(moments, last.translation)
    tokens = last.target_out[: max(1, (width - LEFT) // (CELL + 1))]
    cut = f"; the first {len(tokens)} of {len(last.target_out)}" if len(tokens) < len(last.target_out) else ""
    yield section("Probabilities", f"of the target's tokens, in percent{cut}")
    yield _table(tokens, moments, _probability)
    yield section("Attention", f"the source token with most of a target token's cross-attention (alignment){cut}")
    yield _table(tokens, moments, lambda moment, place: _attended(moment, place, last.source_tokens))


def _translations(moments: tuple[Moment, ...], target: str) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for heading in ("  step", "loss", "translation"):
        table.add_column(justify="left" if heading == "translation" else "right", min_width=len(heading))
    table.add_row(*(Text(heading, "dim") for heading in ("  step", "loss", "translation")))
    for moment in moments:
        right = moment.ended and moment.translation == target
        text = Text(moment.translation + ("" if moment.ended else "…"), "green" if right else "", no_wrap=True)
        text.truncate(60, overflow="ellipsis")
        table.add_row(f"{moment.step:,}", f"{moment.loss:.3f}", text)
    return table


def _table(tokens: tuple[Token, ...], moments: tuple[Moment, ...], cell: Cell) -> Table:
    """A row a moment, a column a token of the target."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", min_width=LEFT - 4, no_wrap=True)
    for _ in tokens:
        table.add_column(justify="left", min_width=CELL, max_width=CELL, no_wrap=True)
    table.add_row(Text("step", "dim"), *(Text(fitted(token.text, CELL), "bold") for token in tokens))
    for moment in moments:
        table.add_row(f"{moment.step:,}", *(cell(moment, place) for place in range(len(tokens))))
    return table


def _probability(moment: Moment, place: int) -> Text:
    probability = moment.probabilities[place]
    return Text(f"{BLOCKS[round(8 * probability)]} {100 * probability:3.0f}", shade(probability))


def _attended(moment: Moment, place: int, source: tuple[Token, ...]) -> Text:
    best = int(moment.alignment[place].argmax())
    return Text(fitted(source[best].text, CELL), shade(float(moment.alignment[place, best])))
