"""`pellucid translate`: texts given as words of the command, or line by line through a pipe."""

from __future__ import annotations

import codecs
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from pellucid.cli.streams import one_line, standard_input
from pellucid.config import DEFAULT_MODEL, DecodeConfig
from pellucid.errors import Problem, UserError, nearest

if TYPE_CHECKING:
    from pellucid.decode.translation import Translation
    from pellucid.decode.translator import Translator

CHUNK = 1 << 18  # bytes read at a time: enough sentences for full batches, and flat memory on a file of any size
FORMATS = ("plain", "jsonl", "tsv")
NOTES = 3  # told one by one; of more their number is told, or a file of long lines would fill the screen


def translate(
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT…]", help="Else, or with -, lines of the standard input.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="The name of a model that ships, or a model or run directory.")
    ] = DEFAULT_MODEL,
    from_: Annotated[str | None, typer.Option("--from", help="Source language; left out or auto: detected.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Target language; may be left out if there is one.")] = None,
    strategy: Annotated[str, typer.Option(help="greedy, beam or sample.")] = "beam",
    beam: Annotated[int, typer.Option(help="Hypotheses kept alive.")] = 5,
    length_penalty: Annotated[float, typer.Option(help="Scores are divided by length to this power.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Sample from the k likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sample from the fewest tokens that exceed p.")] = None,
    temperature: Annotated[float, typer.Option(help="Divides the logits before sampling.")] = 1.0,
    seed: Annotated[int | None, typer.Option(help="Of the sampling; equal seeds give equal texts.")] = None,
    n_best: Annotated[int, typer.Option(help="Translations of each text; in plain format one a line.")] = 1,
    min_length: Annotated[int, typer.Option(help="Tokens at least.")] = 0,
    max_length: Annotated[int | None, typer.Option(help="Tokens at most; by default 3 × source + 10.")] = None,
    repetition_penalty: Annotated[float, typer.Option(help="Above 1: said tokens are less likely.")] = 1.0,
    no_repeat_ngram: Annotated[int, typer.Option(help="No n tokens in a row come twice.")] = 0,
    stopping: Annotated[str, typer.Option(help="When a beam ends: ctranslate2 or exact.")] = "ctranslate2",
    prefix: Annotated[str | None, typer.Option(help="What each translation begins with.")] = None,
    protect: Annotated[bool, typer.Option("--protect", help="Keep placeholders and tags whole.")] = False,
    split: Annotated[bool | None, typer.Option(help="Split texts into sentences, or not.")] = None,
    engine: Annotated[str, typer.Option(help="auto, ctranslate2, torch or reference.")] = "auto",
    compute_type: Annotated[str | None, typer.Option(help="float32 or int8; by default the model's.")] = None,
    format_: Annotated[
        str, typer.Option("--format", help="plain, jsonl, or tsv: source, translation, score.")
    ] = "plain",
    stream: Annotated[
        bool, typer.Option("--stream", help="Show it as it comes: by tokens (greedy, sample) or sentences (beam).")
    ] = False,
) -> None:
    """Translate texts, or the lines of a file: line n in, line n out.

    pellucid translate "Where is the station?"
    pellucid translate --from en --to de < in.txt > out.txt
    """
    if format_ not in FORMATS:
        raise UserError(f"unknown format {format_!r}", "--format", nearest(format_, FORMATS))
    config = DecodeConfig(
        strategy=strategy,  # type: ignore[arg-type]  # DecodeConfig says what is wrong with a wrong word
        beam=beam,
        length_penalty=length_penalty,
        top_k=top_k,
        top_p=top_p,
        temperature=temperature,
        seed=seed,
        n_best=n_best,
        min_length=min_length,
        max_length=max_length,
        repetition_penalty=repetition_penalty,
        no_repeat_ngram=no_repeat_ngram,
        stopping=stopping,  # type: ignore[arg-type]
        scores=format_ != "plain",
    )
    from pellucid.decode.translator import load
    from pellucid.text.unicode import well_formed

    translator = load(model, engine, compute_type=compute_type)  # type: ignore[arg-type]
    texts = None if not texts or texts == ["-"] else [well_formed(text) for text in texts]
    if stream:
        _check_stream(prefix=prefix, protect=protect, split=split, format=format_ if format_ != "plain" else None)
        _stream(translator, texts, from_, to, config)
        return

    notes = 0

    def run(chunk: list[str]) -> Iterator[str]:
        nonlocal notes
        sources = translator.source_texts(chunk, from_, to, prefix)
        translations = translator.translate_all(sources, config, protect=protect, split=split)
        for text, translation in zip(chunk, translations, strict=True):
            for note in translation.notes:
                notes += 1
                if notes <= NOTES:
                    print(f"pellucid: {note}: {text[:40]}…", file=sys.stderr)
            yield from _lines(text, translation, format_, n_best)

    if texts:
        for text in texts:
            if os.path.isfile(text):  # noqa: PTH113  # pathlib fails on a text too long for a name
                print(f"pellucid: {text!r} is taken as a text; for the lines of that file: < {text}", file=sys.stderr)
        _write(run(texts))
    else:
        given = standard_input()
        with _progress(given) as advance:
            for chunk, size in _chunks(given):
                _write(run(chunk))
                advance(size)
    if notes > NOTES:
        print(f"pellucid: {notes - NOTES:,} more such notes; --format jsonl has each beside its text", file=sys.stderr)


def _lines(text: str, translation: Translation, format_: str, n_best: int) -> Iterator[str]:
    """What is printed of a translation: one line, or `n_best` lines where each holds one. A text with fewer
    translations (a blank line has one) repeats the last, so that lines can be counted off."""
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
    """A text as a field of a table: no tab and no line end inside."""
    return one_line(text.replace("\t", " "))


def _write(lines: Iterator[str]) -> None:
    """Whole lines at once, and out of the buffer at once: whoever waits at the other end sees them."""
    _put("".join(line + "\n" for line in lines))


def _put(text: str) -> None:
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def _check_stream(**given: object) -> None:
    """What a stream, which shows one translation as it comes, has no use for."""
    useless = [name for name, value in given.items() if value not in (None, False)]
    if useless:
        raise UserError(
            Problem("has no meaning with --stream", f"--{name}", "leave one of them out") for name in useless
        )


def _stream(
    translator: Translator, texts: list[str] | None, source: str | None, target: str | None, config: DecodeConfig
) -> None:
    for text in texts or (line for chunk, _ in _chunks(standard_input()) for line in chunk):
        for piece in (*translator.stream(text, source, target, config), "\n"):
            _put(piece)


def _chunks(stream: BinaryIO) -> Iterator[tuple[list[str], int]]:
    """Lines as they arrive, some at a time, and how many bytes they took. Whoever types or feeds a pipe line by line
    is answered line by line."""
    rest, count = b"", 0
    broken: list[int] = []  # lines that are not UTF-8

    def decoded(line: bytes) -> str:
        nonlocal count
        count += 1
        if count == 1:
            if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise UserError("is UTF-16", "standard input", "save the file as UTF-8, or: iconv -f utf-16 -t utf-8")
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            return line.decode()
        except UnicodeDecodeError:
            broken.append(count)
            return line.decode(errors="replace")

    read = getattr(stream, "read1", stream.read)
    while data := read(CHUNK):
        *whole, rest = (rest + data).split(b"\n")
        if whole:
            yield list(map(decoded, whole)), len(data)
    if rest:
        yield [decoded(rest)], len(rest)
    if broken:
        more = f" and {len(broken) - 1} more are" if len(broken) > 1 else " is"
        what = f"line {broken[0]}{more} not UTF-8: what cannot be read became U+FFFD"
        print(f"pellucid: {what} (for Latin-1: iconv -f latin1 -t utf-8)", file=sys.stderr)


@contextmanager
def _progress(stream: BinaryIO) -> Iterator[Callable[[int], None]]:
    """A bar on the terminal while a file goes through; nothing where nobody would see it."""
    if stream.isatty() or sys.stdout.isatty() or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    status = os.fstat(stream.fileno())
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("translating", total=status.st_size if stat.S_ISREG(status.st_mode) else None)
        yield lambda size: bar.update(task, advance=size)
