"""A model directory: config, weights, tokenizers, languages, length limit, restriction, alignment heads, card."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from pellucid.config import ModelConfig
from pellucid.errors import UserError
from pellucid.model_directory.alignment_heads import FILE as ALIGNMENT
from pellucid.model_directory.alignment_heads import AlignmentHeads
from pellucid.model_directory.checksums import CARD, Checksums, write_checksums
from pellucid.model_directory.find import find_model
from pellucid.model_directory.length_limit import FILE as LENGTH_LIMIT
from pellucid.model_directory.length_limit import load_length_limit, save_length_limit
from pellucid.model_directory.shapes import weight_shapes
from pellucid.model_directory.vocabulary_restriction import FILE as RESTRICTION
from pellucid.model_directory.vocabulary_restriction import VocabularyRestriction
from pellucid.model_directory.weights import CONFIG, WEIGHTS, read_config, read_weights, write_weights
from pellucid.storage import content_hash, new_directory
from pellucid.text.language_identifier import LanguageIdentifier
from pellucid.text.tokenizer import Tokenizers

LANGUAGES, CONVERTED, TOKENIZERS = "languages.json", "ctranslate2", "tokenizer*.json"


@dataclass(frozen=True)
class Metadata:
    """What a model has beside its config and its weights."""

    tokenizers: Tokenizers
    languages: LanguageIdentifier
    restriction: VocabularyRestriction
    length_limit: int  # tokens of a source
    alignment: AlignmentHeads | None = None  # None: not chosen

    def write(self, directory: Path) -> None:
        self.tokenizers.save(directory)
        self.languages.save(directory / LANGUAGES)
        self.restriction.save(directory)
        save_length_limit(directory, self.length_limit)
        if self.alignment is not None:
            self.alignment.save(directory)


class ModelDirectory:
    """The model in a directory. Each file is read and checked when it is first needed, and read once. Checked means:
    it is what the checksums of the directory say, if it has any, and its content can be used.

    `weights_file` is another file of weights in it, such as a snapshot of the training.
    """

    def __init__(self, path: Path | str, weights_file: str = WEIGHTS) -> None:
        self.path, self.weights_file = Path(path), weights_file

    @classmethod
    def at(cls, place: Self | Path | str) -> Self:
        """The directory at a path, or the given one."""
        return place if isinstance(place, cls) else cls(cast(Path, place))

    @classmethod
    def find(cls, name: Path | str) -> Self:
        """A shipped model by name, or a model or run directory."""
        return cls(find_model(name))

    @classmethod
    def save(
        cls, path: Path, config: ModelConfig, weights: Mapping[str, NDArray[Any]], metadata: Metadata, card: str
    ) -> Self:
        """Write a model whole, in place of an older one."""
        with new_directory(path, keep=lambda _existing, _draft: False, remedy="free some space there") as draft:
            write_weights(draft, config, weights)
            metadata.write(draft)
            (draft / CARD).write_text(card, encoding="utf-8")
            write_checksums(draft)
        return cls(path)

    @property
    def name(self) -> str:
        """The name of the directory; for the model of a run, the name of the run; for a snapshot, that and its step."""
        path = self.path.resolve()
        if self.weights_file != WEIGHTS:
            return (
                f"{path.parent.name}, {re.sub(r'-0*(?=[0-9])', ' ', Path(self.weights_file).stem)}"  # dates, step 170
            )
        return path.parent.name if path.name == "model" else path.name

    @cached_property
    def _checksums(self) -> Checksums:
        return Checksums(self.path)

    @cached_property
    def config(self) -> ModelConfig:
        self._checksums.verify(CONFIG)
        return read_config(self.path)

    def weights(self) -> dict[str, NDArray[np.floating]]:
        """Name -> array, checked against the config. They are read at each call: whoever needs them keeps them."""
        self._checksums.verify(self.weights_file)
        return read_weights(self.path, self.config, self.weights_file)

    @cached_property
    def tokenizers(self) -> Tokenizers:
        self._checksums.verify(TOKENIZERS)
        return Tokenizers.load(self.path)

    @cached_property
    def languages(self) -> LanguageIdentifier:
        self._checksums.verify(LANGUAGES)
        return LanguageIdentifier.load(self.path / LANGUAGES)

    @cached_property
    def restriction(self) -> VocabularyRestriction:
        self._checksums.verify(RESTRICTION)
        return VocabularyRestriction.load(self.path, self.tokenizers)

    @cached_property
    def length_limit(self) -> int:
        """Maximum tokens of a source sentence; a longer one is cut where it is translated."""
        self._checksums.verify(LENGTH_LIMIT)
        return load_length_limit(self.path)

    @cached_property
    def alignment(self) -> AlignmentHeads:
        """The heads that say which source words a target word translates."""
        self._checksums.verify(ALIGNMENT)
        return AlignmentHeads.load(self.path, self.config)

    @property
    def metadata(self) -> Metadata:
        chosen = self.alignment if (self.path / ALIGNMENT).exists() else None
        return Metadata(self.tokenizers, self.languages, self.restriction, self.length_limit, chosen)

    @property
    def max_positions(self) -> int:
        """Positions of a learned table; else as many as there are numbers."""
        return self.config.max_positions or sys.maxsize

    @property
    def card(self) -> str:
        path = self.path / CARD
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    @property
    def parameters(self) -> int:
        return sum(prod(shape) for shape in weight_shapes(self.config).values())

    def converted(self, language: str | None = None) -> Path:
        """Where a model converted for CTranslate2 lies if it ships with the weights: the one with the whole target
        vocabulary, or the one with the vocabulary of a target language."""
        return self.path / CONVERTED / (language or "")

    def fingerprint(self) -> str:
        """A hash of config, weights, tokenizers, vocabulary restriction and alignment heads. It is computed anew at
        each call, so that another model in the same place is noticed."""
        texts = [path for pattern in (TOKENIZERS, RESTRICTION, ALIGNMENT) for path in self.path.glob(pattern)]
        try:
            return content_hash(sorted([self.path / CONFIG, self.path / self.weights_file, *texts]))[:32]
        except OSError as error:
            remedy = "copy the model again, whole"
            raise UserError(f"cannot be read: {error.strerror}", str(error.filename), remedy) from None

    def facts(self) -> dict[str, Any]:
        """What the directory holds, without loading the weights."""
        return {
            "directory": str(self.path),
            "directions": [" → ".join(direction) for direction in self.languages.directions],
            "parameters": self.parameters,
            "converted": (self.converted() / "model.bin").is_file(),
            "bytes": sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file()),
            "config": self.config.to_dict(),
        }
