"""A model in CTranslate2's form, as it ships with the weights or is made on first use and kept.

There is one that may say everything, and one for each language whose targets have tokens of their own, with an output
layer of these tokens alone. Each is opened when a request needs it, and each is a whole model in memory.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

from pellucid.decode.engines import ComputeType
from pellucid.decode.engines.convert import content_hash, convert, made_of
from pellucid.errors import UserError
from pellucid.model_files import read_config
from pellucid.text.cache import cache_directory
from pellucid.text.target_tokens import TargetTokens

SHIPPED = "ctranslate2"  # the folder of a model directory that may hold the converted form, those of languages in it
FORM = 4  # raised when the same weights are to be converted anew


class Form(NamedTuple):
    translator: Any
    compute_type: ComputeType
    tokens: int  # that a target may have


class Forms:
    """The forms of one model directory that are open. `compute_type` None: as they ship, else int8."""

    def __init__(
        self, directory: Path, target_tokens: TargetTokens, compute_type: ComputeType | None, workers: int
    ) -> None:
        self._directory, self._target_tokens = directory, target_tokens
        self._compute_type, self._workers = compute_type, workers
        self._open: dict[str | None, Form] = {}
        self._opening = threading.Lock()
        self._content: str | None = None  # hash of the model that is open

    def of(self, language: str | None = None) -> Form:
        """The form that says only the tokens of a language; None: the one that says everything."""
        form = self._open.get(language)  # without the lock: nobody waits for a form that somebody else needs
        if form is None:
            with self._opening:
                form = self._open.get(language) or self._form(language)
                self._open[language] = form
        return form

    def close(self) -> None:
        self._open.clear()

    def _form(self, language: str | None) -> Form:
        content = content_hash(self._directory)
        if self._content not in (None, content):
            raise UserError("another model is here since it was opened", str(self._directory), "load it again")
        translator = self._translator(language, content)
        self._content = content
        allowed = self._target_tokens.allowed(language)
        tokens = read_config(self._directory).target_tokens if allowed is None else len(allowed)
        return Form(translator, "int8" if "int8" in translator.compute_type else "float32", tokens)

    def _translator(self, language: str | None, content: str) -> Any:
        directory = self._directory
        shipped = directory / SHIPPED / (language or "")
        if self._compute_type is None and (shipped / "model.bin").is_file() and made_of(shipped, content):
            return self._load(shipped)
        compute_type = self._compute_type or "int8"
        name = "-".join([content, compute_type, str(FORM), *([language] if language else [])])
        path = cache_directory() / "ctranslate2" / name
        try:
            if not path.is_dir():
                convert(directory, path, compute_type, language)
        except OSError:  # where nothing can be kept, it is made each time
            with tempfile.TemporaryDirectory() as folder:
                convert(directory, Path(folder) / "model", compute_type, language)
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
