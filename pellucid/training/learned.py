"""What a model knows beside its weights: its languages, the tokens of each, and how long a source may be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from pellucid.config import DataConfig
from pellucid.text.corpus import Corpus
from pellucid.text.languages import FILE as LANGUAGES
from pellucid.text.languages import LanguageIdentifier
from pellucid.text.limits import learn_longest, load_longest, save_longest
from pellucid.text.target_tokens import TargetTokens
from pellucid.text.tokenizer import Tokenizers
from pellucid.training.settings import Settings

SAMPLE = 20_000  # pairs to learn the languages from


@dataclass(frozen=True)
class Learned:
    languages: LanguageIdentifier
    target_tokens: TargetTokens
    longest: int  # tokens of a source

    @classmethod
    def of(cls, settings: Settings, corpus: Corpus, earlier: Self | None) -> Self:
        """From the pairs of a run. One that goes on from an `earlier` model keeps what that one could say and read; one
        that saw words cut anew at each reading (BPE dropout) has no rule for what to say."""
        languages = _languages(settings.data, corpus, earlier.languages if earlier else LanguageIdentifier())
        tokens = TargetTokens(corpus.tokenizers, {}) if settings.train.bpe_dropout else TargetTokens.learn(corpus)
        longest = learn_longest(corpus)
        if earlier is None:
            return cls(languages, tokens, longest)
        return cls(languages, tokens.joined(earlier.target_tokens), max(longest, earlier.longest))

    @classmethod
    def load(cls, directory: Path, tokenizers: Tokenizers) -> Self:
        languages = LanguageIdentifier.load(directory / LANGUAGES)
        return cls(languages, TargetTokens.load(directory, tokenizers), load_longest(directory))

    def save(self, directory: Path) -> None:
        self.languages.save(directory / LANGUAGES)
        self.target_tokens.save(directory)
        save_longest(directory, self.longest)


def _languages(data: DataConfig, corpus: Corpus, earlier: LanguageIdentifier) -> LanguageIdentifier:
    """What `languages.json` holds: the directions of the model and how to tell its languages apart. The directions are
    those asked for, else the one that the files name themselves, else those of the `earlier` model it started from."""
    named = corpus.named_direction()
    directions = data.directions or ([named] if named and named not in earlier.directions else [])
    if not directions:
        return earlier
    texts: dict[str, list[str]] = {language: [] for direction in directions for language in direction}
    for row in np.linspace(0, corpus.stored - 1, min(SAMPLE, corpus.stored)).astype(int):
        for language, text in zip(corpus.languages(int(row)), corpus.text(int(row)), strict=True):
            if language in texts:
                texts[language].append(text)
    return LanguageIdentifier.learn(texts, directions)
