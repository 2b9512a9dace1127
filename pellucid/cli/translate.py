"""`pellucid translate`: texts given as arguments, or the lines of the standard input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.options import EngineAndType, Fields, From, Given, Model, To, options
from pellucid.cli.standard_io import READ_BYTES, check_text, one_line, progress, read_lines, standard_input, write
from pellucid.config import DEFAULT_MODEL, DecodeConfig
from pellucid.errors import Problem, UserError, nearest

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
        bool, typer.Option("--protect", help="keep placeholders, and put tags where their words went")
    ] = False,
    split: Annotated[bool | None, typer.Option(help="split texts into sentences (default: natural languages)")] = None,
    engine: EngineAndType,
    format_: Annotated[
        str, typer.Option("--format", metavar="|".join(FORMATS), help="output; tsv: source, translation, score")
    ] = "plain",
    stream: Annotated[
        bool, typer.Option("--stream", help="print each token as it is chosen; with beam, each sentence")
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
            for piece in translator.stream(text, source, target, config):
                write(piece)
            write("\n")
        return
    notes = 0

    def output(lines: list[str]) -> str:
        nonlocal notes
        rows: list[str] = []
        sources = translator.source_texts(lines, source, target, prefix)
        translations = translator.translate_all(sources, config, protect=protect, split=split)
        for text, translation in zip(lines, translations, strict=True):
            for note in translation.notes[: max(0, PRINTED_NOTES - notes)]:
                print(f"pellucid: {note}: {text[:40]}…", file=sys.stderr)
            notes += len(translation.notes)
            rows += _rows(text, translation, format_, config.n_best)
        return "".join(row + "\n" for row in rows)

    if arguments:
        _point_to_files(arguments)
        write(output(arguments))
    else:
        stdin = standard_input()
        with progress(stdin) as advance:
            for lines, size in read_lines(stdin):
                write(output(lines))
                advance(size)
    if notes > PRINTED_NOTES:
        rest = f"{notes - PRINTED_NOTES:,} more such notes; --format jsonl shows each with its text"
        print(f"pellucid: {rest}", file=sys.stderr)


def _check_stream(**given: object) -> None:
    """Reject options that have no effect on a stream."""
    useless = [name for name, value in given.items() if value not in (None, False)]
    problems = [Problem("has no meaning with --stream", f"--{name}", "leave one of them out") for name in useless]
    if problems:
        raise UserError(problems)


def _point_to_files(texts: list[str]) -> None:
    for text in texts:
        if os.path.isfile(text):  # noqa: PTH113  # pathlib fails on a text too long for a name
            with Path(text).open("rb") as file:
                check_text(file.read(READ_BYTES), text)
            what = f"{text!r} is translated as a text; to translate the lines of that file: < {text}"
            print(f"pellucid: {what}", file=sys.stderr)


def _rows(text: str, translation: Translation, format_: str, n_best: int) -> Iterator[str]:
    """The output for a translation: one row of jsonl, else `n_best` rows. A text with fewer translations (a blank line
    has one) repeats the last, so that row n always belongs to line n // n_best of the input."""
    if format_ == "jsonl":
        yield json.dumps({"input": text, **_fields(translation)}, ensure_ascii=False)
        return
    found = [translation, *translation.alternatives]
    for each in (found[min(rank, len(found) - 1)] for rank in range(n_best)):
        yield each.text if format_ == "plain" else "\t".join([_cell(text), _cell(each.text), f"{each.score:.4f}"])


def _fields(translation: Translation) -> dict[str, Any]:
    return {
        "text": translation.text,
        "score": round(translation.score, 6),
        "tokens": translation.tokens,
        "alternatives": [{"text": each.text, "score": round(each.score, 6)} for each in translation.alternatives],
        "source": translation.source,
        "target": translation.target,
        "notes": translation.notes,
    }


def _cell(text: str) -> str:
    """A text as a field of a table, without tabs and line ends."""
    return one_line(text.replace("\t", " "))
