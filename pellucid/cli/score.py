"""`pellucid score`: the log-probability that a model gives to translations, token by token."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from pellucid.cli.options import AsJson, Engine, From, Model, PairsFile, SourceFile, TargetFile, To, options
from pellucid.cli.pairs import read_pairs
from pellucid.config import DEFAULT_MODEL
from pellucid.errors import UserError, counted


@options
def score(
    texts: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE TARGET]", help="one pair")] = None,
    *,
    source_file: SourceFile = None,
    target_file: TargetFile = None,
    pairs: PairsFile = None,
    model: Model = DEFAULT_MODEL,
    source: From = None,
    target: To = None,
    engine: Engine,
    as_json: AsJson = False,
) -> None:
    """Print the log-probability of translations. A line has the total, the mean per token, and each token's own.

    pellucid score "Good morning." "Guten Morgen." --from en --to de
    """
    from pellucid.decode.translator import load
    from pellucid.evaluation.evaluate import score_pairs

    if texts:
        if len(texts) != 2 or source_file or target_file or pairs:
            raise UserError(counted(len(texts), "text"), "SOURCE TARGET", "give one source and one target, or files")
        sources, targets = [texts[0]], [texts[1]]
    else:
        read = read_pairs(source_file, target_file, pairs, (source, target))
        sources, targets = [pair.source for pair in read], [pair.target for pair in read]
    translator = load(model, **engine)
    scores = score_pairs(translator, translator.source_texts(sources, source, target), targets)
    for source_text, target_text, scored in zip(sources, targets, scores, strict=True):
        tokens = list(zip(scored.tokens, scored.log_probs, strict=True))
        if as_json:
            row = {
                "source": source_text,
                "target": target_text,
                "log_prob": scored.total,
                "mean": scored.mean,
                "tokens": [{"token": token, "log_prob": log_prob} for token, log_prob in tokens],
            }
            typer.echo(json.dumps(row, ensure_ascii=False))
        else:
            each = " ".join(f"{token} {log_prob:.2f}" for token, log_prob in tokens)
            typer.echo(f"{scored.total:.4f}\t{scored.mean:.4f}\t{each}")
