"""`pellucid translate`: texts given as arguments, or the lines of the standard input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.options import EngineAndType, Fields, From, Given, Model, To, options
from pellucid.cli.standard_io import one_line, read_lines, standard_input, write, write_lines
from pellucid.config import DEFAULT_MODEL, DecodeConfig
from pellucid.errors import Problem, UserError, nearest
from pellucid.terminal.progress import progress

if TYPE_CHECKING:
    from pellucid.decode.translation import Translation

FORMATS = ("plain", "jsonl", "tsv")
PRINTED_NOTES = 3  # the rest are counted: a file of long lines would fill the screen


@options
def translate(
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT…]", help="texts to translate; none, or -: the lines of the standard input"),
    ] = None,
    *,
    model: Model = DEFAULT_MODEL,
    source: From = None,
    target: To = None,
    decode: Annotated[Given, Fields(DecodeConfig, tuple(name for name in DecodeConfig.names() if name != "scores"))],
    prefix: Annotated[str | None, typer.Option(help="text that every translation must begin with")] = None,
    protect: Annotated[
        bool, typer.Option("--protect", help="copy placeholders and tags ({name}, %s, <b>) unchanged")
    ] = False,
    split: Annotated[
        bool | None, typer.Option(help="split texts into sentences; default: where the source is a natural language")
    ] = None,
    engine: EngineAndType,
    format_: Annotated[
        str,
        typer.Option("--format", metavar="|".join(FORMATS), help="output format; tsv: source, translation, score"),
    ] = "plain",
    stream: Annotated[
        bool, typer.Option("--stream", help="print each token as it is chosen; with strategy beam, each sentence")
    ] = False,
) -> None:
    """Translate texts, or the lines of a file. Line n of the output is the translation of line n.

    \b
    pellucid translate "Where is the station?"
    pellucid translate --from en --to de < in.txt > out.txt
    """
    if format_ not in FORMATS:
        raise UserError(f"unknown format {format_!r}", "--format", nearest(format_, FORMATS))
    config = DecodeConfig(**decode, scores=format_ != "plain")
    from pellucid.decode.translator import load
    from pellucid.text.unicode import well_formed

    translator = load(model, **engine)
    arguments = [] if texts == ["-"] else [well_formed(text) for text in texts or ()]
    if stream:
        _check_stream(prefix=prefix, protect=protect, split=split, format=format_ if format_ != "plain" else None)
        for text in arguments or (line for lines, _ in read_lines(standard_input()) for line in lines):
            for piece in (*translator.stream(text, source, target, config), "\n"):
                write(piece)
        return
    notes = Notes()

    def output(lines: list[str]) -> Iterator[str]:
        sources = translator.source_texts(lines, source, target, prefix)
        translations = translator.translate_all(sources, config, protect=protect, split=split)
        for text, translation in zip(lines, translations, strict=True):
            notes.report(text, translation)
            yield from _rows(text, translation, format_, config.n_best)

    if arguments:
        _point_to_files(arguments)
        write_lines(output(arguments))
    else:
        stdin = standard_input()
        with progress(stdin) as advance:
            for lines, size in read_lines(stdin):
                write_lines(output(lines))
                advance(size)
    notes.report_rest()


class Notes:
    """Prints the first notes on translations to standard error, and the number of the others at the end."""

    count = 0

    def report(self, text: str, translation: Translation) -> None:
        for note in translation.notes:
            self.count += 1
            if self.count <= PRINTED_NOTES:
                print(f"pellucid: {note}: {text[:40]}…", file=sys.stderr)

    def report_rest(self) -> None:
        if self.count > PRINTED_NOTES:
            rest = self.count - PRINTED_NOTES
            print(f"pellucid: {rest:,} more such notes; --format jsonl shows each with its text", file=sys.stderr)


def _check_stream(**given: object) -> None:
    """Reject options that have no effect on a stream."""
    useless = [f"--{name}" for name, value in given.items() if value not in (None, False)]
    if useless:
        raise UserError(Problem("has no meaning with --stream", flag, "leave one of them out") for flag in useless)


def _point_to_files(texts: list[str]) -> None:
    for text in texts:
        if os.path.isfile(text):  # noqa: PTH113  # pathlib fails on a text too long for a name
            what = f"{text!r} is translated as a text; to translate the lines of that file: < {text}"
            print(f"pellucid: {what}", file=sys.stderr)


def _rows(text: str, translation: Translation, format_: str, n_best: int) -> Iterator[str]:
    """The output for a translation: one row of jsonl, else `n_best` rows. A text with fewer translations (a blank line
    has one) repeats the last, so that row n always belongs to line n // n_best of the input."""
    if format_ == "jsonl":
        alternatives = [{"text": each.text, "score": round(each.score, 6)} for each in translation.alternatives]
        row = vars(translation) | {"score": round(translation.score, 6), "alternatives": alternatives}
        yield json.dumps({"input": text, **row}, ensure_ascii=False)
        return
    found = [translation, *translation.alternatives]
    for each in (found[min(rank, len(found) - 1)] for rank in range(n_best)):
        yield each.text if format_ == "plain" else "\t".join([_cell(text), _cell(each.text), f"{each.score:.4f}"])


def _cell(text: str) -> str:
    """A text as a field of a table, without tabs and line ends."""
    return one_line(text.replace("\t", " "))
