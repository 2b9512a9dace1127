"""`explain`: the engine searches for a translation, then a pass of the reference over it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pellucid.config import DecodeConfig
from pellucid.decode.engines.reference import ReferenceEngine
from pellucid.decode.hypotheses import Sentence
from pellucid.decode.sentences import SourceText, read_documents
from pellucid.decode.translator import Translator, load
from pellucid.errors import UserError
from pellucid.reference import Transformer, causal
from pellucid.reference.functions import Array, Mask
from pellucid.text.batch import shifted
from pellucid.text.tokenizer import Tokenizer
from pellucid.tracing.beam import traced_beam_search
from pellucid.tracing.heads import align, heads
from pellucid.tracing.steps import steps
from pellucid.tracing.trace import Attention, Token, Trace


def explain(
    model: Translator | str | Path,
    text: str,
    source: str | None = None,
    target: str | None = None,
    *,
    target_text: str | None = None,
) -> Trace:
    """Translate one sentence, or take `target_text` for its translation, and record every intermediate value.

    A text of several sentences is explained as it is translated, sentence by sentence: the trace is that of the first.
    With a `target_text` it is taken whole, as the other half of a pair.
    """
    translator = model if isinstance(model, Translator) else load(model)
    [source_text] = translator.source_texts([text], source, target)
    explained, sentence, notes = _sentence(translator, source_text, whole=target_text is not None)
    ids = sentence.source_ids
    config = DecodeConfig()
    engine = translator.engine(config, len(ids))
    [[best]] = engine.search([sentence], config)
    found = best.with_end
    output = found if target_text is None else _given(translator, target_text)

    reference = translator.open("reference")
    assert isinstance(reference, ReferenceEngine)
    values, masks = _record(reference.model, ids, output)
    target_tokenizer = translator.tokenizers.target
    return Trace(
        text=explained,
        translation=target_tokenizer.decode(output),
        source=source_text.direction[0],
        target=source_text.direction[1],
        given=target_text is not None,
        model=translator.directory.name,
        engine=engine.name,
        config=translator.config,
        source_tokens=_tokens(translator.tokenizers.source, ids),
        target_in=_tokens(target_tokenizer, shifted(output)),
        target_out=_tokens(target_tokenizer, output),
        values=values,
        masks=masks,
        steps=steps(reference.model, values, engine.logits(ids, output), output, target_tokenizer),
        beam=traced_beam_search(reference, sentence, config, target_tokenizer, found),
        alignment=align(values, translator.config),
        heads=heads(values, translator.config),
        notes=notes,
    )


def _sentence(translator: Translator, source: SourceText, whole: bool) -> tuple[str, Sentence, tuple[str, ...]]:
    """The sentence to explain: its text, its ids, and what a reader should know of it."""
    [document] = read_documents([source], translator.tokenizers, translator.length_limit, False if whole else None)
    spans = [(span.text, span.sentence) for span in document.spans if span.sentence is not None]
    if not spans:
        raise UserError("there is nothing to translate in it", "text", "give a sentence")
    parts = f"the text is translated in {len(spans)} parts; this is the trace of the first"
    return *spans[0], (*document.notes, *([parts] if len(spans) > 1 else []))


def _given(translator: Translator, text: str) -> list[int]:
    ids = translator.tokenizers.encode_target(text)
    if len(ids) > translator.max_tokens:
        what = f"{len(ids)} tokens are more than the {translator.max_tokens} that can be explained"
        raise UserError(what, "target_text", "give a shorter one")
    return ids


def _record(
    model: Transformer, source: Sequence[int], output: Sequence[int]
) -> tuple[dict[str, Array], dict[Attention, Mask]]:
    """Both stacks over the sentence and its target: all values, and who could see whom."""
    values: dict[str, Array] = {}

    def record(name: str, value: Array) -> None:
        values[name] = value if name.endswith(".position") else value[0]  # positions are the same for every sentence

    ids = np.array([source])
    model.forward(ids, np.ones(ids.shape, dtype=np.bool_), np.array([shifted(output)]), record)
    masks: dict[Attention, Mask] = {
        "encoder.self_attention": np.ones((len(source), len(source)), dtype=np.bool_),
        "decoder.self_attention": causal(len(output)),
        "decoder.cross_attention": np.ones((len(output), len(source)), dtype=np.bool_),
    }
    return values, masks


def _tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[Token, ...]:
    return tuple(Token(number, text) for number, text in zip(ids, tokenizer.readable(ids), strict=True))
