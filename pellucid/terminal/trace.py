"""A trace in the terminal: tokens, alignment, steps, what the heads attend to, the tree of the beam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text
from rich.tree import Tree

from pellucid.terminal.encoding import printable
from pellucid.tracing.formulas import Formula
from pellucid.tracing.trace import ATTENTIONS, Attention, Beam, DecodingStep, Head, Node, Token, Trace

BLOCKS = " ▁▂▃▄▅▆▇█"
WORDS: dict[Attention, str] = {
    "encoder.self_attention": "encoder",
    "decoder.self_attention": "decoder",
    "decoder.cross_attention": "cross",
}
WIDEST = 8  # cells of a column of the alignment
OTHERS = 3  # candidates beside the chosen one
MOST_STEPS = 64


def print_trace(trace: Trace, console: Console) -> None:
    for block in _blocks(trace, console.width):
        console.print(printable(block, console))


def print_formulas(trace: Trace, console: Console) -> None:
    """The formulas of the model, with the shapes of what they give; of each stack's layers the first."""
    for place, group in groupby((each for each in trace.formulas if not each.layer), key=_place):
        console.print(printable(section(place, ""), console))
        for formula in group:
            shape = "×".join(map(str, formula.shape)) or "number"
            console.print(printable(Text.assemble(f"  {formula}", (f"   {shape}", "dim")), console))


def _place(formula: Formula) -> str:
    layer = "" if formula.layer is None else ", first layer"
    return f"{formula.stack.capitalize()}{layer}: {formula.sublayer.replace('_', '-')}"


def _blocks(trace: Trace, width: int) -> Iterator[RenderableType]:
    detected = " (detected)" if trace.detected else ""
    direction = f"{trace.source}{detected} → {trace.target}, " if trace.source else ""
    yield Text.assemble((trace.text, "bold"), ("  →  ", "dim"), (trace.translation, "bold"))
    given = "the target was given" if trace.given else f"translated by {trace.engine}"
    yield Text(f"{direction}model {trace.model}, {given}, every number by the reference", "dim")
    for note in trace.notes:
        yield Text(f"note: {note}", "yellow")
    scores = (
        f"{each.score:z.3f} by {each.engine} ({each.compute_type}, {each.vocabulary} tokens)" for each in trace.scores
    )
    yield Text(f"score {', '.join(scores)}", "dim")
    if trace.changed:
        yield from _what_if(trace, trace.changed)
    yield section("Tokens", "with their ids; ▁ is a space")
    yield _tokens("source", trace.source_tokens, width)
    yield _tokens("target", trace.target_out, width)
    yield section("Alignment", "attention weights (percent) of target tokens on source tokens")
    yield _alignment(trace, width)
    yield section("Steps", "output token, its probability, entropy of the distribution (bits)")
    yield _steps(trace.steps)
    if any(step.differs for step in trace.steps):
        yield Text(f"  ≠ here {trace.engine} has another likeliest token than the reference", "yellow")
    yield section("Heads", "where more than half of a head's attention goes; · nowhere in particular")
    yield _heads(trace)
    yield section("Beam", f"of {trace.beam.width}; score: log-probability / length; ★ the best, ✗ not continued")
    yield _beam(trace.beam, width)


def _what_if(trace: Trace, changed: Trace) -> Iterator[RenderableType]:
    """The translation under interventions, and what they do to the probabilities of the original one."""
    yield section("What if", ", ".join(changed.interventions.given))
    yield Text.assemble("  ", (changed.text, "bold"), ("  →  ", "dim"), (changed.translation, "bold"))
    for note in changed.notes:
        yield Text(f"  note: {note}", "yellow")
    yield Text("  probability of each token of the original translation: before → after", "dim")
    for step, after in zip(trace.steps[:MOST_STEPS], changed.original_probabilities, strict=False):
        before = step.chosen.probability
        style = "yellow" if abs(after - before) >= 0.1 else ""
        yield Text(f"    {fitted(step.chosen.text, 14)} {before:6.1%} → {after:6.1%}", style)


def section(title: str, about: str) -> RenderableType:
    return Text.assemble("\n", (title, "bold cyan"), (f"  {about}", "dim"))


def _tokens(side: str, tokens: Sequence[Token], width: int) -> RenderableType:
    """Each token with its number, as many in a line as fit."""
    lines = [Text.assemble((f"  {side}", "dim"))]
    for token in tokens:
        word = Text.assemble("  ", (token.text, "bold"), (f" {token.id}", "dim"))
        if token is not tokens[0] and lines[-1].cell_len + word.cell_len + 2 > width:
            lines.append(Text(" " * (2 + len(side))))
        lines[-1].append_text(word)
    return Group(*lines)


def _alignment(trace: Trace, width: int) -> RenderableType:
    """A table of percents with a block each; a list where it would be wider than the terminal."""
    rows = [token.text for token in trace.target_out]
    first = min(WIDEST + 4, max(map(cell_len, rows)))
    sizes = [max(4, min(WIDEST, cell_len(token.text))) for token in trace.source_tokens]
    if first + 3 + sum(sizes) + len(sizes) > width:
        return Group(*(_aligned(trace, row, first) for row in range(len(rows))))
    heading = Text(" " * (first + 3))
    for token, size in zip(trace.source_tokens, sizes, strict=True):
        heading.append(" " + fitted(token.text, size), "dim")
    lines = [heading]
    for word, weights in zip(rows, trace.alignment.tolist(), strict=True):
        line = Text("  ").append(fitted(word, first, right=True), "bold").append(" ")
        for weight, size in zip(weights, sizes, strict=True):
            cell = f"{BLOCKS[round(weight * 8)]}{weight * 100:3.0f}"
            line.append(f" {cell:<{size}}", shade(weight))
        lines.append(line)
    return Group(*lines)


def _aligned(trace: Trace, row: int, first: int) -> Text:
    """A target token and the source tokens with the largest weights."""
    weights = trace.alignment[row]
    line = Text("  ").append(fitted(trace.target_out[row].text, first, right=True), "bold")
    for column in (-weights).argsort(kind="stable")[:4].tolist():
        token, weight = trace.source_tokens[column].text, weights[column]
        line.append(f"   {token}", shade(weight)).append(f" {weight:.0%}", "dim")
    return line


def _steps(steps: Sequence[DecodingStep]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for style, least in (("dim", 5), ("bold", 5), ("", 17), ("dim", 7), ("", 12), ("dim", 9)):
        table.add_column(style=style, no_wrap=True, min_width=least)
    table.columns[4].no_wrap = False  # the next best give way in a narrow terminal
    headings = ("", "token", "probability", "entropy", "next best", "top-p 0.9")
    table.add_row(*(Text(heading, "dim") for heading in headings))
    for position, step in enumerate(steps[:MOST_STEPS]):
        probability = step.chosen.probability
        others = [each for each in step.candidates if each.id != step.chosen.id and each.probability >= 0.001][:OTHERS]
        table.add_row(
            f"{position + 1:>5}",
            step.chosen.text + (" ≠" if step.differs else ""),
            Text(f"{BLOCKS[-1] * round(probability * 10):<10} {probability:6.1%}", shade(max(0.3, probability))),
            f"{step.entropy:.1f}",
            Text("  ").join(Text.assemble(each.text, (f" {each.probability:.1%}", "dim")) for each in others),
            f"from {step.pools[-1].size}",
        )
    if len(steps) > MOST_STEPS:
        table.add_row("", f"… {len(steps) - MOST_STEPS} more")
    return table


def _heads(trace: Trace) -> Table:
    table = Table.grid(*(Column(no_wrap=True) for _ in range(1 + trace.config.heads)), padding=(0, 2, 0, 0))
    table.add_row("", *(Text(f"head {head}", "dim") for head in range(trace.config.heads)))
    for part in ATTENTIONS:
        for layer in range(trace.layers(part)):
            row = [head for head in trace.heads if (head.part, head.layer) == (part, layer)]
            table.add_row(Text(f"  {WORDS[part]} layer {layer}", "dim"), *map(_head, row))
    return table


def _head(head: Head) -> Text:
    if not head.mainly:
        return Text("·", "dim")
    return Text.assemble((head.mainly, "bold"), (f" {getattr(head, head.mainly):.0%}", "dim"))


def _beam(beam: Beam, width: int) -> RenderableType:
    """The hypotheses that were kept, as a tree. A run of tokens without a fork is one line."""
    children: dict[int, list[int]] = {}
    for place, node in enumerate(beam.nodes):
        if node.fate != "died":
            children.setdefault(node.parent, []).append(place)
    tree = Tree("", hide_root=True, guide_style="dim")
    waiting = [(tree, place) for place in reversed(children.get(-1, []))]
    while waiting:
        branch, place = waiting.pop()
        run = [place]
        while len(children.get(run[-1], [])) == 1:
            run += children[run[-1]]
        line = branch.add(_line([beam.nodes[each] for each in run], bool(children.get(run[-1])), width))
        waiting += [(line, child) for child in reversed(children.get(run[-1], []))]
    return Padding(tree, (0, 0, 0, 2), expand=False)


def _line(run: Sequence[Node], continued: bool, width: int) -> Text:
    """Tokens and the score they reached: ★ the best hypothesis, ✗ not continued."""
    last = run[-1]
    words = Text(" ".join(node.text for node in run), "bold" if last.best else "")
    words.truncate(max(20, width // 2), overflow="ellipsis")
    if last.fate == "ended":
        return words.append(f"  {last.score:z.3f} ★", "green") if last.best else words.append(f"  {last.score:z.3f}")
    return words if continued else words.append(f"  {last.score:z.3f} ✗", "dim")


def shade(weight: float) -> str:
    return "bold cyan" if weight >= 0.5 else "cyan" if weight >= 0.25 else "" if weight >= 0.1 else "dim"


def fitted(word: str, size: int, right: bool = False) -> str:
    """A word in exactly `size` cells, cut or padded."""
    if cell_len(word) > size:
        word = set_cell_size(word, size - 1).rstrip() + "…"
    spaces = " " * (size - cell_len(word))
    return spaces + word if right else word + spaces
