"""Pictures of a trace for slides and papers: all heads, the alignment, the tree of the beam (matplotlib)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import UserError, nearest
from pellucid.notebook import new_figure
from pellucid.reference.functions import Array
from pellucid.tracing.trace import ATTENTIONS, Attention, Token, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path as Curve

    from pellucid.tracing.learning import Learning

MOST_POSITIONS = 64
PICTURES = (*ATTENTIONS, "alignment", "beam")
INK, QUIET, LINE, BEST = "#23211e", "#6a655d", "#d8d3c8", "#1f5f8b"
TITLES: dict[Attention, str] = {
    "encoder.self_attention": "Encoder self-attention: rows are queries (source), columns keys (source)",
    "decoder.self_attention": "Decoder self-attention: rows are queries (target), columns keys (target)",
    "decoder.cross_attention": "Cross-attention: rows are queries (target), columns keys (source)",
}


def draw(trace: Trace, folder: Path) -> list[Path]:
    """Write the pictures into a folder, which is made if it is not there; returns what was written."""
    names = {f"{what.replace('.', '-').replace('_', '-')}.png": what for what in PICTURES}
    need_matplotlib("--png")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, what in names.items():
            figure(trace, what).savefig(folder / name, dpi=160, metadata={"Software": None})
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", str(folder), "name another folder") from None
    return [folder / name for name in names]


def figure(trace: Trace, what: str) -> Figure:
    """One picture: the heads of an attention by its name, the alignment or the beam."""
    need_matplotlib("plot")
    if what in ATTENTIONS:
        return _heads(trace, what)
    if what not in PICTURES:
        raise UserError(f"there is no picture {what!r}", "what", nearest(what, PICTURES))
    return _alignment(trace) if what == "alignment" else _beam(trace)


def need_matplotlib(where: str) -> None:
    if find_spec("matplotlib") is None:
        raise UserError("matplotlib is not installed", where, "pip install 'pellucid[plot]'")


def learning_figure(learning: Learning) -> Figure:
    """The loss at every step, above the probability of each token."""
    need_matplotlib("plot")
    moments, tokens = learning.moments, learning.target_tokens[:MOST_POSITIONS]
    height = 3.2 + 0.28 * len(tokens)
    made = _figure(2 + 0.34 * len(moments), height, f"{learning.watched.source.text} → {learning.target}")
    losses, shares = made.subplots(2, 1, height_ratios=[2.2, height - 2.2], sharex=True)
    losses.plot([moment.loss for moment in moments], "o-", color=BEST, markersize=3.5)
    losses.set_yscale("log")
    losses.set_ylabel("loss, nats per token", fontsize=8, color=QUIET)
    _heatmap(shares, np.array([moment.probabilities[: len(tokens)] for moment in moments]).T)
    shares.set_aspect("auto")
    shares.set_yticks(range(len(tokens)), [_plain(token) for token in tokens], fontsize=8)
    shares.set_xticks(range(len(moments)), [f"{moment.step:,}" for moment in moments], rotation=90, fontsize=7)
    shares.set_xlabel(
        "step of the training; the shade is the probability of each token of the target", fontsize=8, color=QUIET
    )
    return made


def _heads(trace: Trace, part: Attention) -> Figure:
    """Every head of every layer: a row a layer, a column a head."""
    layers, heads = trace.layers(part), trace.config.heads
    queries, keys = (tokens[:MOST_POSITIONS] for tokens in trace.tokens(part))
    cell = max(0.06, min(0.2, 2.4 / max(len(queries), len(keys))))
    wide, high = max(1.1, cell * len(keys)), cell * len(queries)
    figure = _figure(0.9 + (wide + 0.2) * heads, 1.2 + (high + 0.3) * layers, TITLES[part])
    plots = figure.subplots(layers, heads, squeeze=False, sharex=True, sharey=True)
    for layer in range(layers):
        weights = trace.weights(part, layer)
        for head in range(heads):
            plot = plots[layer, head]
            _heatmap(plot, weights[head, :MOST_POSITIONS, :MOST_POSITIONS])
            described = next(h for h in trace.heads if (h.part, h.layer, h.head) == (part, layer, head))
            mainly = f": {described.mainly}" if described.mainly else ""
            plot.set_title(f"layer {layer}, head {head}{mainly}", fontsize=7, color=QUIET, pad=3)
            _label(plot, keys if layer == layers - 1 else None, queries if head == 0 else None, size=5.5)
    return figure


def _alignment(trace: Trace) -> Figure:
    source, target = trace.source_tokens[:MOST_POSITIONS], trace.target_out[:MOST_POSITIONS]
    weights = trace.alignment[:MOST_POSITIONS, :MOST_POSITIONS]
    title = "Alignment: rows are target tokens, columns source tokens"
    figure = _figure(1.8 + 0.42 * len(source), 1.5 + 0.32 * len(target), title)
    plot = figure.subplots()
    _heatmap(plot, weights)
    plot.xaxis.tick_top()
    _label(plot, source, target, size=9)
    plot.tick_params(axis="x", labeltop=True, labelbottom=False)
    if weights.size <= 900:  # more numbers are not readable
        for row, column in np.argwhere(weights >= 0.05).tolist():
            weight = weights[row, column]
            colour = "white" if weight > 0.35 else INK
            plot.text(column, row, f"{weight:.0%}", ha="center", va="center", fontsize=6.5, color=colour)
    return figure


def _beam(trace: Trace) -> Figure:
    """Time runs to the right; at each step the candidates stand below each other, the best on top."""
    from matplotlib.patches import PathPatch

    nodes = [node for node in trace.beam.nodes if node.step < MOST_POSITIONS]
    # The row of a node is its rank among those of its step.
    rows = [row for _, step in groupby(nodes, lambda node: node.step) for row, _ in enumerate(step)]
    figure = _figure(1 + 1.05 * (1 + nodes[-1].step), 1.4 + 0.32 * (1 + max(rows)), f"Beam of {trace.beam.width}")
    plot = figure.subplots()
    for node, row in zip(nodes, rows, strict=True):
        colour = BEST if node.best else LINE if node.fate == "died" else QUIET
        if node.parent >= 0:
            line = _curve((node.step - 0.68, rows[node.parent]), (node.step - 0.32, row))
            width = 2 if node.best else 0.7
            plot.add_patch(PathPatch(line, fill=False, edgecolor=colour, linewidth=width, zorder=1 + node.best))
        weight = "bold" if node.best or node.fate == "ended" else "normal"
        text = plot.text(node.step, row, _plain(node.text), ha="center", va="center", fontsize=8, weight=weight)
        text.set_color(BEST if node.best else "#a8a298" if node.fate == "died" else INK)
        if node.fate == "ended":
            plot.text(node.step, row + 0.34, f"{node.score:.2f}", ha="center", va="center", fontsize=5.5, color=QUIET)
    plot.set_xlim(-0.6, nodes[-1].step + 0.6)
    plot.set_ylim(max(rows) + 0.7, -0.7)
    plot.axis("off")
    kinds = (
        "blue: the best hypothesis; black: others that were kept; grey: pruned; a number: the score of a finished one"
    )
    figure.text(0.01, 0.01, kinds, size=6.5, color=QUIET)
    return figure


def _curve(start: tuple[float, float], end: tuple[float, float]) -> Curve:
    """A line that leaves and arrives level."""
    from matplotlib.path import Path as Curve

    middle = (start[0] + end[0]) / 2
    places = [start, (middle, start[1]), (middle, end[1]), end]
    return Curve(places, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])


def _figure(width: float, height: float, title: str) -> Figure:
    wide = max(width, 0.5 + 0.08 * len(title))  # inches; the title fits
    figure = new_figure(wide, max(2.5, height))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    return figure


def _heatmap(plot: Axes, weights: Array) -> None:
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    colours = LinearSegmentedColormap.from_list("weights", ["#fbfaf7", "#a9cbe0", "#3d83b0", "#0d3554"])
    lifted = PowerNorm(0.6, 0, 1)  # small weights of long sentences can still be seen
    plot.imshow(weights, cmap=colours, norm=lifted, aspect="equal", interpolation="nearest")
    for side in plot.spines.values():
        side.set_color(LINE)


def _label(plot: Axes, keys: Sequence[Token] | None, queries: Sequence[Token] | None, size: float) -> None:
    """Tokens along the edges that have them."""
    plot.tick_params(length=0, labelsize=size, colors=INK, pad=2)
    if keys is not None:
        plot.set_xticks(range(len(keys)), [_plain(token.text) for token in keys], rotation=90)
    if queries is not None:
        plot.set_yticks(range(len(queries)), [_plain(token.text) for token in queries])


def _plain(text: str) -> str:
    """A dollar sign is money, not the start of a formula."""
    return text.replace("$", r"\$")
