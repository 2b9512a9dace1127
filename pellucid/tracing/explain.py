"""`explain`: the engine searches for a translation, then a pass of the reference over it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.engines.reference import ReferenceEngine
from pellucid.decode.hypotheses import Sentence
from pellucid.decode.sentences import SourceText, read_documents
from pellucid.decode.translator import Translator, load
from pellucid.errors import UserError
from pellucid.reference.functions import Array
from pellucid.text.batch import shifted
from pellucid.text.languages import Languages
from pellucid.text.tokenizer import Tokenizer
from pellucid.tracing.beam import traced_beam_search
from pellucid.tracing.formulas.sublayers import stream_name
from pellucid.tracing.heads import align, heads
from pellucid.tracing.interventions import NO_INTERVENTIONS, Interventions, interventions
from pellucid.tracing.record import changing, exact_score, given_scores, masks, record, searched_scores
from pellucid.tracing.steps import steps
from pellucid.tracing.trace import Beam, Score, Token, Trace
from pellucid.tracing.what_if import ChangedReference, probabilities

FUTURE = (
    "without the causal mask, the pass over the whole target sees the words that it should predict; the search knew "
    "only those that it had found"
)
SHORT = 16  # tokens that a translation under interventions may always have


def explain(
    model: Translator | str | Path,
    text: str,
    source: str | None = None,
    target: str | None = None,
    *,
    target_text: str | None = None,
    intervene: Sequence[str] = (),
) -> Trace:
    """Translate one sentence, or take `target_text` for its translation, and record every intermediate value.

    A text of several sentences is explained as it is translated, sentence by sentence: the trace is that of the first.
    With a `target_text` it is taken whole, as the other half of a pair.
    `intervene` changes the model or the sentence: "encoder.layers.2.self_attention.head.1=0", "positions=0",
    "swap=0,1", "target.2=Hund". What comes of it is the trace's `changed`, a trace too.
    """
    translator = model if isinstance(model, Translator) else load(model)
    [source_text] = translator.source_texts([text], source, target)
    given = None if target_text is None else given_target(translator, target_text)
    trace = replace(
        _plain(translator, source_text, given),
        detected=_is_detected(translator, source, target, source_text.direction),
    )
    return replace(trace, changed=_changed(translator, trace, given, intervene)) if intervene else trace


class _Source(NamedTuple):
    """The sentence to explain, and what a reader should know of it."""

    text: str
    sentence: Sentence
    direction: Languages
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Target:
    """A target with its scores and logits, and the search for the best one."""

    output: Sequence[int]
    given: bool
    engine: str
    scores: tuple[Score, ...]
    logits: NDArray[np.floating]  # of the engine
    values: dict[str, Array]
    beam: Beam


def _plain(translator: Translator, source_text: SourceText, given: list[int] | None) -> Trace:
    """The trace of what the engine finds, or of the target that is given."""
    source = _source(translator, source_text, whole=given is not None)
    ids, config = source.sentence.source_ids, DecodeConfig()
    engine, reference = translator.engine(config, len(ids)), _reference(translator)
    [[best]] = engine.search([source.sentence], config)
    output = best.with_end if given is None else given
    engine_logits, values = engine.logits(ids, output), record(reference.model, ids, output)
    logits, allowed = values["output.logits"], reference.allowed(source.sentence)
    scores = (
        given_scores(engine, engine_logits, logits, output)
        if given is not None
        else searched_scores(engine, best.score, logits, output, allowed)
    )
    beam = traced_beam_search(reference, source.sentence, config, translator.tokenizers.target, best.with_end)
    target = _Target(output, given is not None, engine.name, scores, engine_logits, values, beam)
    return _trace(translator, source, target, NO_INTERVENTIONS)


def _changed(translator: Translator, plain: Trace, given: list[int] | None, intervene: Sequence[str]) -> Trace:
    """The trace under interventions: its translation is searched for by the reference, with the changes."""
    asked = interventions(intervene, translator.config, plain.text, plain.translation)
    if asked.forced and given is not None:
        raise UserError("no word can be forced where the translation is given", "intervene", "leave one of them out")
    text, prefix = asked.source(plain.text), asked.prefix(plain.translation)
    source = _source(translator, SourceText(text, (plain.source, plain.target), prefix), whole=True)
    if asked.future:
        source = source._replace(notes=(*source.notes, FUTURE))
    # Some changes let a model go on without end: twice the words of the plain translation show that.
    forced = len(source.sentence.prefix)
    if forced > translator.max_tokens:
        remedy = f"at most {translator.max_tokens}"
        raise UserError(f"{forced} tokens are more than can be forced", "intervene", remedy)
    target = _by_reference(translator, source, asked, given, forced + max(SHORT, 2 * len(plain.target_out)))
    original = [token.id for token in plain.target_out]
    on_original = record(_reference(translator).model, source.sentence.source_ids, original, asked.change)
    before = probabilities(on_original["output.logits"], original)
    return replace(_trace(translator, source, target, asked), detected=plain.detected, original_probabilities=before)


def explain_target(translator: Translator, source_text: SourceText, target: Sequence[int], longest: int) -> Trace:
    """The trace of a given target. Its beam search is that of the reference, for at most `longest` tokens: a model that
    has learned little would go on without end."""
    source = _source(translator, source_text, whole=True)
    found = _by_reference(translator, source, NO_INTERVENTIONS, target, longest)
    return _trace(translator, source, found, NO_INTERVENTIONS)


def _by_reference(
    translator: Translator, source: _Source, asked: Interventions, given: Sequence[int] | None, longest: int
) -> _Target:
    """What the reference finds under interventions, or the target that is given."""
    reference = ChangedReference(_reference(translator), asked.change, asked.future)
    config, tokenizer = DecodeConfig(max_length=longest), translator.tokenizers.target
    beam = traced_beam_search(reference, source.sentence, config, tokenizer)
    output = [node.id for node in beam.nodes if node.best] if given is None else given
    values = record(reference.model, source.sentence.source_ids, output, asked.change)
    logits = values["output.logits"]
    scores = (exact_score(logits, output),)
    return _Target(output, given is not None, "reference", scores, logits, values, beam)


def _trace(translator: Translator, source: _Source, target: _Target, asked: Interventions) -> Trace:
    """What follows from the recorded values of a sentence and its target."""
    tokenizer, values, config = translator.tokenizers.target, target.values, translator.config
    model, ids = _reference(translator).model, source.sentence.source_ids
    ends = [stream_name(config, "decoder", 3 * (layer + 1)) for layer in range(config.decoder_layers)]
    return Trace(
        text=source.text,
        translation=tokenizer.decode(target.output),
        source=source.direction[0],
        target=source.direction[1],
        given=target.given,
        model=translator.directory.name,
        engine=target.engine,
        config=config,
        source_tokens=_tokens(translator.tokenizers.source, ids),
        target_in=_tokens(tokenizer, shifted(target.output)),
        target_out=_tokens(tokenizer, target.output),
        values=values,
        masks=masks(len(ids), len(target.output)),
        steps=steps(
            lambda x: model.lens(x, changing(asked.change, {ends[-1]: x})),
            [values[name] for name in ends],
            values["output.logits"],
            target.logits,
            target.output,
            tokenizer,
        ),
        beam=target.beam,
        alignment=align(values, config),
        heads=heads(values, config),
        scores=target.scores,
        parameters=model.weights,
        notes=source.notes,
        interventions=asked,
    )


def _reference(translator: Translator) -> ReferenceEngine:
    engine = translator.open("reference")
    assert isinstance(engine, ReferenceEngine)
    return engine


def _is_detected(translator: Translator, source: str | None, target: str | None, found: Languages) -> bool:
    """Whether the source language had to be detected: none was given, and more than one was possible."""
    possible = {one for one, other in translator.languages.directions if target is None or other == found[1]}
    return source in (None, "auto") and len(possible) > 1


def _source(translator: Translator, text: SourceText, whole: bool) -> _Source:
    """The first sentence of a text; `whole`: the text is one."""
    [document] = read_documents([text], translator.tokenizers, translator.length_limit, False if whole else None)
    spans = [(span.text, span.sentence) for span in document.spans if span.sentence is not None]
    if not spans:
        raise UserError("there is nothing to translate in it", "text", "give a sentence")
    parts = f"the text is translated in {len(spans)} parts; this is the trace of the first"
    return _Source(*spans[0], text.direction, (*document.notes, *([parts] if len(spans) > 1 else [])))


def given_target(translator: Translator, text: str) -> list[int]:
    ids = translator.tokenizers.encode_target(text)
    if len(ids) > translator.max_tokens:
        what = f"{len(ids)} tokens are more than the {translator.max_tokens} that can be explained"
        raise UserError(what, "target_text", "give a shorter one")
    return ids


def _tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[Token, ...]:
    return tuple(Token(number, text) for number, text in zip(ids, tokenizer.readable(ids), strict=True))
