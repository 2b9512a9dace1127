"""The converted models of a model directory: shipped with the weights, or made on first use and kept in the cache.

There is one with the whole target vocabulary, and one for each target language with a vocabulary restriction, whose
output layer has only the allowed tokens. Each is opened when a request needs it, and is a whole model in memory.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

from pellucid.decode.engines import ComputeType
from pellucid.decode.engines.ctranslate2.convert import VERSION, convert, is_made_of
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.storage import StorageError, cache_directory


class ConvertedModel(NamedTuple):
    translator: Any
    compute_type: ComputeType
    vocabulary: int  # of the target


class ConvertedModels:
    """The converted models that are open. `compute_type` None: as they ship, else int8."""

    def __init__(self, directory: ModelDirectory, compute_type: ComputeType | None, workers: int) -> None:
        self._directory, self._compute_type, self._workers = directory, compute_type, workers
        self._open: dict[str | None, ConvertedModel] = {}
        self._opening = threading.Lock()
        self._fingerprint: str | None = None  # of the model that is open

    def get(self, language: str | None = None) -> ConvertedModel:
        """The model with the restricted vocabulary of a language; None: the one with the whole vocabulary."""
        model = self._open.get(language)  # without the lock: nobody waits while another model is opened
        if model is None:
            with self._opening:
                model = self._open.get(language) or self._convert_or_load(language)
                self._open[language] = model
        return model

    def close(self) -> None:
        self._open.clear()

    def _convert_or_load(self, language: str | None) -> ConvertedModel:
        directory = self._directory
        fingerprint = directory.fingerprint()
        if self._fingerprint not in (None, fingerprint):
            raise UserError("the model was replaced after it was opened", str(directory.path), "load it again")
        translator = self._translator(language, fingerprint)
        self._fingerprint = fingerprint
        allowed = directory.restriction.allowed(language)
        vocabulary = directory.config.target_tokens if allowed is None else len(allowed)
        return ConvertedModel(translator, "int8" if "int8" in translator.compute_type else "float32", vocabulary)

    def _translator(self, language: str | None, fingerprint: str) -> Any:
        shipped = self._directory.converted(language)
        if self._compute_type is None and is_made_of(shipped, fingerprint):
            return self._load(shipped)
        compute_type = self._compute_type or "int8"
        name = "-".join([fingerprint, compute_type, str(VERSION), *([language] if language else [])])
        path = cache_directory() / "ctranslate2" / name
        try:
            if not is_made_of(path, fingerprint):
                convert(self._directory, path, compute_type, language)
        except StorageError:  # where nothing can be kept, it is made each time
            with tempfile.TemporaryDirectory() as folder:
                convert(self._directory, Path(folder) / "model", compute_type, language)
                return self._load(Path(folder) / "model")
        return self._load(path)

    def _load(self, path: Path) -> Any:
        from ctranslate2 import Translator

        try:
            return Translator(
                str(path), device="cpu", compute_type="default", inter_threads=self._workers, intra_threads=1
            )
        except (RuntimeError, ValueError) as error:
            remedy = "the folder is damaged: delete it, and it is made anew from the weights"
            raise UserError(f"CTranslate2 cannot load it: {error}", str(path), remedy) from error
