"""One translation with everything on the way: the engine searches, the reference goes over it again and is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pellucid.config import DecodeConfig
from pellucid.decode.documents import read
from pellucid.decode.engines.reference import ReferenceEngine
from pellucid.decode.search import Sentence
from pellucid.decode.translator import Translator, load
from pellucid.decode.ways import Way
from pellucid.errors import UserError
from pellucid.reference import Transformer, causal
from pellucid.reference.functions import Array, Mask
from pellucid.text.batch import shifted
from pellucid.text.tokenizer import END, Tokenizer
from pellucid.tracing.beam import watched_beam
from pellucid.tracing.heads import align, heads
from pellucid.tracing.steps import steps
from pellucid.tracing.trace import Part, Token, Trace


def explain(
    model: Translator | str | Path,
    text: str,
    source: str | None = None,
    target: str | None = None,
    *,
    target_text: str | None = None,
) -> Trace:
    """Translate one sentence, or take `target_text` for its translation, and record every number on the way.

    A text of several sentences is explained as it is translated, sentence by sentence: the trace is that of the first.
    With a `target_text` it is taken whole, as the other half of a pair.
    """
    translator = model if isinstance(model, Translator) else load(model)
    way = translator.way(text, source, target)
    explained, ids, notes = _sentence(translator, text, way, whole=target_text is not None)
    config = DecodeConfig()
    engine = translator.engine(config, len(ids))
    [best] = engine.search([Sentence(ids)], config)[0]
    found = [*best.tokens, END] if best.ended else list(best.tokens)
    said = found if target_text is None else _given(translator, target_text)

    reference = _reference(translator)
    values, masks = _record(reference.model, ids, said)
    target_tokenizer = translator.tokenizers.target
    return Trace(
        text=explained,
        translation=target_tokenizer.decode(said),
        source=way[0],
        target=way[1],
        given=target_text is not None,
        model=_name(translator.directory),
        engine=engine.name,
        config=translator.config,
        source_tokens=_tokens(translator.tokenizers.source, ids),
        target_in=_tokens(target_tokenizer, shifted(said)),
        target_out=_tokens(target_tokenizer, said),
        values=values,
        masks=masks,
        steps=steps(reference.model, values, engine.logits(ids, said), said, target_tokenizer),
        beam=watched_beam(reference, ids, config, target_tokenizer, found),
        alignment=align(values, translator.config),
        heads=heads(values, translator.config),
        notes=notes,
    )


def _sentence(translator: Translator, text: str, way: Way, whole: bool) -> tuple[str, tuple[int, ...], tuple[str, ...]]:
    """The sentence to explain, its source ids, and what a reader should know of it."""
    [document] = read([text], [way], translator.tokenizers, translator.longest, split=False if whole else None)
    parts = [part for part in document.parts if part.source]
    if not parts:
        raise UserError("there is nothing to translate in it", "text", "give a sentence")
    notes = list(document.notes)
    if len(parts) > 1:
        notes.append(f"the text is translated in {len(parts)} parts; this is the trace of the first")
    return parts[0].text, parts[0].source, tuple(notes)


def _given(translator: Translator, text: str) -> list[int]:
    ids = translator.tokenizers.encode_target(text)
    if len(ids) > translator.most_tokens:
        what = f"{len(ids)} tokens are more than the {translator.most_tokens} that can be explained"
        raise UserError(what, "target_text", "give a shorter one")
    return ids


def _reference(translator: Translator) -> ReferenceEngine:
    engine = translator.open("reference")
    assert isinstance(engine, ReferenceEngine)
    return engine


def _record(
    model: Transformer, source: Sequence[int], said: Sequence[int]
) -> tuple[dict[str, Array], dict[Part, Mask]]:
    """Both stacks over the sentence and its target: all values, and who could see whom."""
    values: dict[str, Array] = {}

    def record(name: str, value: Array) -> None:
        values[name] = value if name.endswith(".position") else value[0]  # positions are the same for every sentence

    ids = np.array([source])
    model.forward(ids, np.ones(ids.shape, dtype=np.bool_), np.array([shifted(said)]), record)
    masks: dict[Part, Mask] = {
        "encoder.self_attention": np.ones((len(source), len(source)), dtype=np.bool_),
        "decoder.self_attention": causal(len(said)),
        "decoder.cross_attention": np.ones((len(said), len(source)), dtype=np.bool_),
    }
    return values, masks


def _tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[Token, ...]:
    return tuple(Token(number, text) for number, text in zip(ids, tokenizer.readable(ids), strict=True))


def _name(directory: Path) -> str:
    """A model directory by its name; the one inside a run by the name of the run."""
    path = directory.resolve()
    return path.parent.name if path.name == "model" else path.name
