"""`pellucid score`: the log-probability that a model gives to translations, token by token."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from pellucid.cli.options import AsJson, Corpus, Engine, From, Model, PairsFile, SourceFile, TargetFile, To, options
from pellucid.cli.pairs import read_pairs
from pellucid.config import DEFAULT_MODEL
from pellucid.errors import UserError, counted
from pellucid.text.pair import Pair


@options
def score(
    texts: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE TARGET]", help="one pair")] = None,
    *,
    source_file: SourceFile = None,
    target_file: TargetFile = None,
    pairs: PairsFile = None,
    corpus: Corpus = None,
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

    if texts and (len(texts) != 2 or source_file or target_file or pairs or corpus):
        raise UserError(counted(len(texts), "text"), "SOURCE TARGET", "give one source and one target, or files")
    read = [Pair(*texts)] if texts else read_pairs(source_file, target_file, pairs, corpus, (source, target))
    translator = load(model, **engine)
    sources = translator.source_texts([pair.source for pair in read], source, target)
    scores = score_pairs(translator, sources, [pair.target for pair in read])
    for pair, scored in zip(read, scores, strict=True):
        tokens = list(zip(scored.tokens, scored.log_probs, strict=True))
        if as_json:
            row = {"source": pair.source, "target": pair.target, "log_prob": scored.total, "mean": scored.mean}
            each = [{"token": token, "log_prob": log_prob} for token, log_prob in tokens]
            typer.echo(json.dumps({**row, "tokens": each}, ensure_ascii=False))
        else:
            each_text = " ".join(f"{token} {log_prob:.2f}" for token, log_prob in tokens)
            typer.echo(f"{scored.total:.4f}\t{scored.mean:.4f}\t{each_text}")
