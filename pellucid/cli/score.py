"""`pellucid score`: how likely a model finds given translations, token by token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.pairs import read_pairs
from pellucid.config import DEFAULT_MODEL
from pellucid.errors import UserError, counted


def score(
    texts: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE TARGET]", help="One pair.")] = None,
    source: Annotated[Path | None, typer.Option(help="A file of sources, one a line.")] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, line by line.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="A file of pairs instead: .tsv, .jsonl or .tmx.")] = None,
    model: Annotated[
        str, typer.Option(help="The name of a model that ships, or a model or run directory.")
    ] = DEFAULT_MODEL,
    from_: Annotated[str | None, typer.Option("--from", help="Source language.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Target language.")] = None,
    engine: Annotated[str, typer.Option(help="auto, ctranslate2, torch or reference.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a pair.")] = False,
) -> None:
    """Print the log-probability of translations, and of each of their tokens.

    pellucid score "Good morning." "Guten Morgen." --from en --to de
    """
    from pellucid.decode.translator import load
    from pellucid.evaluation.evaluate import score_pairs

    if texts:
        if len(texts) != 2 or source or target or pairs:
            raise UserError(counted(len(texts), "text"), "SOURCE TARGET", "give one source and one target, or files")
        sides = [[texts[0]], [texts[1]]]
    else:
        read = read_pairs(source, target, pairs, (from_, to))
        sides = [[pair.source for pair in read], [pair.target for pair in read]]
    translator = load(model, engine)  # type: ignore[arg-type]  # it says what is wrong with a wrong word
    scores = score_pairs(translator, translator.source_texts(sides[0], from_, to), sides[1])
    for given, wanted, scored in zip(*sides, scores, strict=True):
        if as_json:
            tokens = [
                {"token": token, "log_prob": log_prob}
                for token, log_prob in zip(scored.tokens, scored.log_probs, strict=True)
            ]
            row = {"source": given, "target": wanted, "log_prob": scored.total, "mean": scored.mean, "tokens": tokens}
            typer.echo(json.dumps(row, ensure_ascii=False))
            continue
        each = " ".join(f"{token} {p:.2f}" for token, p in zip(scored.tokens, scored.log_probs, strict=True))
        typer.echo(f"{scored.total:.4f}\t{scored.mean:.4f}\t{each}")
