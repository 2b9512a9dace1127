"""Translations with the places of the tags that were taken out of their texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from pellucid.decode.hypotheses import Hypothesis, Stop, StoppedError
from pellucid.decode.markup.placing import Alignment, place_tags
from pellucid.decode.sentences import Document, SourceText
from pellucid.decode.translation import Translation

Align = Callable[[Document, Sequence[Hypothesis]], Alignment]
"""A document and the hypothesis that was chosen for each of its sentences -> which words belong together."""


def with_places(
    translations: Sequence[Translation],
    sources: Sequence[SourceText],
    documents: Sequence[Document],
    hypotheses: Sequence[Sequence[Hypothesis]],
    align: Align,
    stop: Stop | None,
) -> list[Translation]:
    """The translations, and their alternatives, with the places of the tags. `hypotheses` are those of every sentence,
    in the order of the documents; `stop` is asked once a document."""
    following = iter(hypotheses)
    found = []
    for translation, source, document in zip(translations, sources, documents, strict=True):
        own = list(islice(following, len(document.sentences)))
        if source.tags:
            if stop is not None and stop():
                raise StoppedError
            ranked = []
            for rank, each in enumerate((translation, *translation.alternatives)):
                alignment = align(document, [ranks[min(rank, len(ranks) - 1)] for ranks in own])
                ranked.append(replace(each, tags=place_tags(source.tags, alignment, len(each.text))))
            translation = replace(ranked[0], alternatives=tuple(ranked[1:]))
        found.append(translation)
    return found
