"""`pellucid evaluate`: the quality of a model's translations of a test set, and whether another model is better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.options import AsJson, EngineAndType, Fields, From, PairsFile, SourceFile, TargetFile, To, options
from pellucid.cli.pairs import generated_test_pairs, read_pairs
from pellucid.cli.standard_io import check_writable, one_line
from pellucid.config import DEFAULT_MODEL, DecodeConfig
from pellucid.errors import UserError

if TYPE_CHECKING:
    from pellucid.evaluation.evaluate import Evaluation

GIVEN = "given translations"


@options
def evaluate(
    *,
    source_file: SourceFile = None,
    target_file: TargetFile = None,
    pairs: PairsFile = None,
    corpus: Annotated[
        str | None, typer.Option(help="test split of a generated corpus instead: dates or reports")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help=f"model (repeatable: they are compared); default: {DEFAULT_MODEL}"),
    ] = None,
    translations: Annotated[
        Path | None, typer.Option(metavar="FILE", help="translations made elsewhere, one per line; compared too")
    ] = None,
    source: From = None,
    target: To = None,
    decode: Annotated[dict[str, Any], Fields(DecodeConfig, ("strategy", "beam", "length_penalty"))],
    engine: EngineAndType,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the first model's translations here")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="draw chrF by source length: .png, .svg, .pdf or .jpg")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score the translations of a test set. The scores are BLEU, chrF, TER, ROUGE-L and exact match.

    pellucid evaluate --source test.en --target test.de --from en --to de
    """
    from pellucid.decode.translator import load
    from pellucid.evaluation.evaluate import Report
    from pellucid.evaluation.evaluate import evaluate as evaluation_of
    from pellucid.evaluation.picture import check_picture, draw_lengths

    files = (source_file, target_file, pairs)
    if corpus is None and not any(files):
        raise UserError("nothing to evaluate", "", "give --source and --target, --pairs, or --corpus")
    if corpus is None:
        read = read_pairs(*files, (source, target))
    elif any(files):
        raise UserError("files and a generated corpus are given", "--corpus", "give one of them")
    else:
        read = generated_test_pairs(corpus, (source, target))
        source, target = read[0].source_language, read[0].target_language
    config = DecodeConfig(**decode, scores=False)
    if picture is not None:
        check_picture(picture)
    for path in filter(None, (output, picture)):
        check_writable(path)
    sources, references = [pair.source for pair in read], [pair.target for pair in read]
    systems = [_given_translations(translations, references)] if translations else []
    names = model or ([] if translations else [DEFAULT_MODEL])
    if len({GIVEN, *names}) <= len(names):
        raise UserError("a model is given twice", "--model", "give different ones")
    for name, translator in [(name, load(name, **engine)) for name in names]:  # a wrong name is reported first
        texts = translator.source_texts(sources, source, target)
        systems.append(evaluation_of(name, translator, texts, references, config))
    report = Report.of(systems, sources, references)
    if output is not None:
        output.write_text("".join(one_line(text) + "\n" for text in systems[0].translations), encoding="utf-8")
    if picture is not None:
        draw_lengths(report.by_length, picture)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), indent=2, ensure_ascii=False))
        return
    from pellucid.terminal.evaluation import print_report

    print_report(report)


def _given_translations(path: Path, references: list[str]) -> Evaluation:
    from pellucid.evaluation.evaluate import Evaluation, check_lengths
    from pellucid.evaluation.metrics import all_scores
    from pellucid.text.readers.files import lines

    texts = [line.strip() for _, line in lines(path)]  # as the references are read
    check_lengths(texts, references, "translations", str(path))
    return Evaluation(GIVEN, texts, all_scores(texts, references))
