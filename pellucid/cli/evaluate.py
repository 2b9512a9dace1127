"""`pellucid evaluate`: how good a model's translations of a test set are, and whether another's are better."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.pairs import read_pairs, unseen_pairs
from pellucid.cli.streams import one_line
from pellucid.config import DEFAULT_MODEL, DecodeConfig
from pellucid.errors import UserError, nearest

if TYPE_CHECKING:
    from pellucid.evaluation.evaluate import Evaluation

GIVEN = "given translations"
PICTURES = (".png", ".svg", ".pdf", ".jpg")


def evaluate(
    source: Annotated[Path | None, typer.Option(help="A file of sources, one a line.")] = None,
    target: Annotated[Path | None, typer.Option(help="Their references, line by line.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="A file of pairs instead: .tsv, .jsonl or .tmx.")] = None,
    corpus: Annotated[
        str | None, typer.Option(help="A generated corpus instead, dates or reports: its unseen part.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="A model; given twice or more, they are compared.")] = None,
    translations: Annotated[
        Path | None, typer.Option(help="Translations that were made elsewhere, one a line; compared too.")
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Source language.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Target language.")] = None,
    strategy: Annotated[str, typer.Option(help="greedy or beam.")] = "beam",
    beam: Annotated[int, typer.Option(help="Hypotheses kept alive.")] = 5,
    length_penalty: Annotated[float, typer.Option(help="Scores are divided by length to this power.")] = 1.0,
    engine: Annotated[str, typer.Option(help="auto, ctranslate2, torch or reference.")] = "auto",
    compute_type: Annotated[str | None, typer.Option(help="float32 or int8; by default the model's.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the first model's translations here.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw quality by source length into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Score translations of a test set: BLEU, chrF, TER, ROUGE-L, exact match, speed.

    pellucid evaluate --source test.en --target test.de --from en --to de
    """
    from pellucid.decode.translator import load
    from pellucid.evaluation import evaluate as evaluation
    from pellucid.evaluation.metrics import all_scores, compare, looks_tokenised

    if not (corpus or source or target or pairs):
        raise UserError("there is nothing to evaluate", "", "give --source and --target, --pairs, or --corpus")
    if corpus is None:
        read = read_pairs(source, target, pairs, (from_, to))
    elif source or target or pairs:
        raise UserError("files and a generated corpus together", "--corpus", "give one of them")
    else:
        read = unseen_pairs(corpus, (from_, to))
        from_, to = read[0].source_language, read[0].target_language
    sources, references = [pair.source for pair in read], [pair.target for pair in read]
    config = DecodeConfig(strategy=strategy, beam=beam, length_penalty=length_penalty, scores=False)  # type: ignore[arg-type]
    _check_places(output, picture)
    results: list[Evaluation] = []
    if translations is not None:
        made = _lines(translations)
        evaluation.check_lengths(made, references, "translations", str(translations))
        results.append(evaluation.Evaluation(GIVEN, made, all_scores(made, references)))
    names = model or ([DEFAULT_MODEL] if translations is None else [])
    if len({GIVEN, *names}) <= len(names):
        raise UserError("a model is given twice", "--model", "give different ones")
    translators = {name: load(name, engine, compute_type=compute_type) for name in names}  # type: ignore[arg-type]
    for name, translator in translators.items():
        given = translator.source_texts(sources, from_, to)
        results.append(evaluation.evaluate(name, translator, given, references, config))
    first = results[0]
    groups = evaluation.by_length(sources, first.translations, references)
    differences = compare({each.name: each.translations for each in results}, references) if results[1:] else {}
    warning = looks_tokenised(references) or looks_tokenised(first.translations)
    if output is not None:
        output.write_text("".join(one_line(text) + "\n" for text in first.translations), encoding="utf-8")
    if picture is not None:
        _draw(groups, picture)
    if as_json:
        report: dict[str, Any] = {
            "models": [each.to_dict() for each in results],
            "differences": {name: [each._asdict() for each in rows] for name, rows in differences.items()},
            "chrF_by_words": [{"words": words, "sentences": count, "chrF": chrf} for words, count, chrf in groups],
            "looks_tokenised": warning,
        }
        typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
        return
    _show(results, differences, groups)
    if warning:
        typer.echo("pellucid: the text looks tokenised; scores of it are not comparable", err=True)


def _lines(path: Path) -> list[str]:
    from pellucid.text.readers.files import lines

    return [line.strip() for _, line in lines(path)]  # as the references are read


def _show(results: list[Evaluation], differences: dict[str, Any], groups: list[tuple[str, int, float]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table("", *(result.name for result in results), box=None)
    for rows in zip(*(result.scores for result in results), strict=True):
        table.add_row(rows[0].name, *(f"{row.score:.2f}" for row in rows))
    if any(result.seconds for result in results):
        speeds = [f"{len(r.translations) / r.seconds:,.1f}" if r.seconds else "" for r in results]
        table.add_row("sentences a second", *speeds)
    console.print(table)
    for name, rows in differences.items():
        for row in rows:
            verdict = "significant" if row.p_value < 0.05 else "may be chance"
            gain = row.score - row.baseline
            console.print(f"{name} against {results[0].name}: {row.name} {gain:+.2f}, p = {row.p_value:.3f}: {verdict}")
    console.print("\nchrF by words of the source, " + results[0].name)
    lengths = Table("words", "sentences", "chrF", box=None)
    for words, count, chrf in groups:
        lengths.add_row(words, f"{count:,}", f"{chrf:.1f}")
    console.print(lengths)
    for score in results[0].scores:
        console.print(f"{score.name}: {score.signature}", style="dim")


def _check_places(output: Path | None, picture: Path | None) -> None:
    """What cannot be written is known before the work, not after it."""
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise UserError(f"unknown kind of picture {str(picture)!r}", "--picture", nearest(picture.suffix, PICTURES))
    if picture is not None and find_spec("matplotlib") is None:
        remedy = "pip install 'pellucid[plot]'"
        raise UserError("matplotlib, which draws it, is not installed", "--picture", remedy)
    for path in (output, picture):
        try:
            if path is not None:
                path.open("ab").close()
        except OSError as error:
            raise UserError(
                f"cannot be written: {error.strerror}", str(path), "name a file in a folder there is"
            ) from None


def _draw(groups: list[tuple[str, int, float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    bars = axes.bar([words for words, _, _ in groups], [chrf for _, _, chrf in groups], color="#4477aa")
    axes.bar_label(bars, labels=[f"{count:,}" for _, count, _ in groups], fontsize=8)
    axes.set(xlabel="words of the source (above: sentences)", ylabel="chrF", ylim=(0, 105))
    figure.savefig(path)
