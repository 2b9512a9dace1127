"""The metadata of a model, learned from the pairs: languages, vocabulary restriction, length limit."""

from __future__ import annotations

import numpy as np

from pellucid.config import DataConfig
from pellucid.model_directory import Metadata, ModelDirectory
from pellucid.model_directory.length_limit import learn_length_limit
from pellucid.model_directory.vocabulary_restriction import VocabularyRestriction
from pellucid.text.augment import DERIVED
from pellucid.text.corpus import Corpus
from pellucid.text.language_identifier import LanguageIdentifier
from pellucid.training.run import Run, Settings

SAMPLE_PAIRS = 20_000  # to learn the language identifier from


def learn_metadata(run: Run, settings: Settings, corpus: Corpus) -> Metadata:
    """The metadata of a model trained on `corpus`. One that is fine-tuned from an earlier model keeps what that could
    read and write; one trained with BPE dropout or on invented names has no vocabulary restriction, because any token
    may occur."""
    # The run keeps a copy of the metadata of the model it started from, which may be gone by now.
    earlier = ModelDirectory(run.checkpoints) if settings.start_from else None
    kinds = settings.data.augmentations if corpus.in_languages else ()
    unrestricted = VocabularyRestriction(corpus.tokenizers, {})
    any_token = settings.train.bpe_dropout or {"names", "insertions", "capitals"} & {*kinds}
    languages = _languages(settings.data, corpus, earlier.languages if earlier else LanguageIdentifier())
    restriction = unrestricted if any_token else VocabularyRestriction.learn(corpus)
    limit = learn_length_limit(corpus, paragraphs="paragraphs" in kinds)
    if earlier is not None:
        restriction, limit = restriction.union(earlier.restriction), max(limit, earlier.length_limit)
    return Metadata(corpus.tokenizers, languages, restriction, limit)


def _languages(data: DataConfig, corpus: Corpus, earlier: LanguageIdentifier) -> LanguageIdentifier:
    """The directions of the model and the identifier of its languages. The directions are the requested ones, else the
    one in the names of the files, else those of the `earlier` model."""
    named = corpus.named_direction()
    directions = data.directions or ([named] if named and named not in earlier.directions else [])
    if not directions:
        return earlier
    texts: dict[str, list[str]] = {language: [] for direction in directions for language in direction}
    count = corpus.stored - int((corpus.pairs_from(DERIVED) < corpus.stored).sum())  # those come last
    for row in np.linspace(0, count - 1, min(SAMPLE_PAIRS, count)).astype(int):
        for language, text in zip(corpus.languages(int(row)), corpus.text(int(row)), strict=True):
            if language in texts:
                texts[language].append(text)
    return LanguageIdentifier.learn(texts, directions)
