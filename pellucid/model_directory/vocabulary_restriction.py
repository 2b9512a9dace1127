"""The vocabulary restriction: which tokens a translation may contain.

A joint vocabulary holds the words of both languages. A token that never occurs in the training texts of the target
language is never right, so the search leaves it out: it cannot slip into the other language, and the output layer,
which is most of the work of a small model, is smaller. Nothing becomes impossible to write, because single bytes are
always allowed.

Stored as `target_tokens.json` in the model directory. Without that file every token is allowed.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from pellucid.errors import UserError
from pellucid.text.tokenizer import BYTE_OF, SPECIALS, Tokenizers

if TYPE_CHECKING:
    from pellucid.text.corpus import Corpus

FILE = "target_tokens.json"
UNTAGGED = "target"  # in place of the language, in a model of one direction without language tags
MINIMUM_GAIN = 0.1  # share of the vocabulary left out: for less, a converted model of its own is not worth having


class VocabularyRestriction:
    """The allowed tokens of each target language that has a restriction, as masks (vocabulary,)."""

    def __init__(self, tokenizers: Tokenizers, masks: Mapping[str, NDArray[np.bool_]]) -> None:
        self._tokenizers, self._masks = tokenizers, dict(masks)
        self.ids = {language: np.flatnonzero(mask) for language, mask in masks.items()}

    @classmethod
    def learn(cls, corpus: Corpus) -> Self:
        """From the targets of a corpus, as they are tokenised without BPE dropout."""
        tokenizers = corpus.tokenizers
        always = np.zeros(len(tokenizers.target), bool)
        always[: len(SPECIALS)] = True
        tags = len(tokenizers.target.languages)  # between the special tokens and the bytes; no target has one
        always[len(SPECIALS) + tags :][: len(BYTE_OF)] = True
        masks: dict[str, NDArray[np.bool_]] = {}
        for language, used in corpus.used_target_tokens().items():
            name = language if tokenizers.source.languages and language else UNTAGGED
            masks[name] = masks.get(name, always) | used
        return cls(tokenizers, masks)

    @classmethod
    def load(cls, directory: Path, tokenizers: Tokenizers) -> Self:
        path = directory / FILE
        if not path.exists():
            return cls(tokenizers, {})
        known = tokenizers.source.languages or (UNTAGGED,)
        try:
            packed = json.loads(path.read_text(encoding="utf-8")).items()
            masks = {_checked(name, known): _unpacked(text, len(tokenizers.target)) for name, text in packed}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise UserError(f"cannot be used: {error}", str(path), "copy the model again, whole") from error
        return cls(tokenizers, masks)

    def save(self, directory: Path) -> None:
        """Write the restrictions that leave out enough; without any there is no file."""
        worth = {name: mask for name, mask in sorted(self._masks.items()) if mask.mean() <= 1 - MINIMUM_GAIN}
        packed = {name: base64.b64encode(np.packbits(mask).tobytes()).decode() for name, mask in worth.items()}
        if packed:
            (directory / FILE).write_text(json.dumps(packed, indent=1) + "\n", encoding="utf-8")
        else:
            (directory / FILE).unlink(missing_ok=True)

    def union(self, earlier: Self) -> Self:
        """The restriction of a fine-tuned model: only languages that are restricted in both are restricted."""
        both = self._masks.keys() & earlier._masks.keys()
        return type(self)(self._tokenizers, {name: self._masks[name] | earlier._masks[name] for name in both})

    def applies(self, target_language: str | None, prefix: Sequence[int] = ()) -> str | None:
        """The language whose restriction holds for a translation into `target_language`; None if there is none, or if
        the translation must begin with tokens that it does not allow."""
        name = target_language if self._tokenizers.source.languages else UNTAGGED
        return name if name in self._masks and self._masks[name][list(prefix)].all() else None

    def allowed(self, language: str | None) -> NDArray[np.int64] | None:
        """The allowed tokens of a language that `applies` gave; None: all of them."""
        return None if language is None else self.ids[language]


def _checked(name: str, known: Sequence[str]) -> str:
    """The name becomes a folder name, so it must be a valid language code."""
    if name not in known or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise ValueError(f"the model has no target language {name!r}")
    return name


def _unpacked(text: str, size: int) -> NDArray[np.bool_]:
    bits = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    if len(bits) != -(-size // 8):
        raise ValueError(f"it is not for a vocabulary of {size}")
    mask = np.unpackbits(bits, count=size).astype(bool)
    if not mask[: len(SPECIALS)].all():
        raise ValueError(f"{' '.join(SPECIALS)} must be among the tokens")
    return mask
