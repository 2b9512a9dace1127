"""CTranslate2: the fastest engine on a CPU, told everything.

The same sentence always gives the same numbers, whatever goes through the engine beside it. In int8, batches of equal
length are bit for bit the same as single sentences (whole numbers have no rounding to reorder). In float32 the last
digits depend on how many rows are multiplied at once, so there each sentence goes alone. One thread works on a
sentence, and several sentences are worked on at once: the number of workers changes the speed, never a result.
"""

from __future__ import annotations

import atexit
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.engines import ComputeType, EngineName, Ids
from pellucid.decode.engines.batches import equal_lengths
from pellucid.decode.engines.convert import check_supported, content_hash, convert, made_of, most_positions
from pellucid.decode.engines.watching import Watching
from pellucid.decode.engines.workers import Workers
from pellucid.decode.search import Hypothesis, Sentence, Watch, max_length
from pellucid.errors import UserError
from pellucid.model_files import read_config
from pellucid.text.cache import cache_directory
from pellucid.text.tokenizer import END, Tokenizers

SHIPPED = "ctranslate2"  # the folder of a model directory that may hold the converted form
COLDEST = 1e-6  # a temperature below takes the likeliest token; CTranslate2 would divide by it in float32
# Of one batch at most, found by trying: against 64 sentences at a time, 1,000 sentences take 0.98 of the time with
# greedy search, 0.91 with a beam of 5.
SENTENCES, HYPOTHESES = 32, 80
FORM = 3  # raised when the same weights are to be converted anew


class CTranslate2Engine:
    name: EngineName = "ctranslate2"

    def __init__(self, directory: Path, tokenizers: Tokenizers, compute_type: ComputeType | None = None) -> None:
        self.config = read_config(directory)
        check_supported(self.config)
        self.workers = Workers()
        self._translator = _open(directory, compute_type, self.workers.most)
        self._watched: set[Watching] = set()
        atexit.register(_let_go, weakref.ref(self))
        self.compute_type: ComputeType = "int8" if "int8" in self._translator.compute_type else "float32"
        self._source_pieces = tokenizers.source.pieces(range(len(tokenizers.source)))
        same = tokenizers.joint
        self._target_pieces = self._source_pieces if same else tokenizers.target.pieces(range(len(tokenizers.target)))
        self._target_ids = {piece: number for number, piece in enumerate(self._target_pieces)}

    def refuses(self, config: DecodeConfig, longest: int) -> str:
        if config.seed is not None and config.strategy == "sample":
            return "CTranslate2 has no seed for a single request"
        if config.stopping == "exact" and config.strategy == "beam":
            return "CTranslate2 has a stopping rule of its own"
        positions = most_positions(self.config)
        if positions is not None and longest > positions:
            return f"the converted model has {positions} positions, and the text is {longest} tokens long"
        return ""

    def search(
        self, sentences: Sequence[Sentence], config: DecodeConfig, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        # One prefix in a batch changes how CTranslate2 treats the sentences without: batches are of one kind only.
        lengths = [(len(sentence.source), len(sentence.prefix)) for sentence in sentences]
        batches = self._batches(lengths, config.beam if config.strategy == "beam" else config.n_best)
        found: list[list[Hypothesis]] = [[] for _ in sentences]

        def run(places: list[int]) -> list[Any]:
            return self._search([sentences[place] for place in places], config, watch, places)

        for places, results in zip(batches, self.workers.map(run, batches), strict=True):
            for place, result in zip(places, results, strict=True):
                found[place] = [
                    self._hypothesis(pieces, score)
                    for pieces, score in zip(result.hypotheses, result.scores, strict=True)
                ]
        return found

    def logits(self, source: Ids, target: Ids) -> NDArray[np.floating]:
        """The target is forced on a greedy search, which reports what it would have liked to say instead."""
        [result] = self._translator.translate_batch(
            [self._pieces(source)],
            target_prefix=[self._named(target[:-1])],
            beam_size=1,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=len(target),
            return_logits_vocab=True,
        )
        return np.stack([np.array(step) for step in result.logits[0]]).reshape(len(target), -1)

    def score(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[NDArray[np.floating]]:
        batches = self._batches([(len(source), len(target)) for source, target in pairs])
        scores: list[NDArray[np.floating]] = [np.zeros(0)] * len(pairs)

        def run(places: list[int]) -> list[Any]:
            sources = [self._pieces(pairs[place][0]) for place in places]
            targets = [self._named(pairs[place][1][:-1]) for place in places]  # the end is added
            results: list[Any] = self._translator.score_batch(sources, targets, max_input_length=0)
            return results

        for places, results in zip(batches, self.workers.map(run, batches), strict=True):
            for place, result in zip(places, results, strict=True):
                scores[place] = np.array(result.log_probs)
        return scores

    def _search(
        self, sentences: list[Sentence], config: DecodeConfig, watch: Watch | None, places: list[int]
    ) -> list[Any]:
        prefixes = [self._named(sentence.prefix) for sentence in sentences]
        most = max_length(sentences[0], config, most_positions(self.config))
        watching = None
        if watch is not None and config.strategy != "beam":
            watching = Watching(watch, places, len(sentences[0].prefix))
            self._watched.add(watching)
        error = None
        try:
            results: list[Any] = self._translator.translate_batch(
                [self._pieces(sentence.source) for sentence in sentences],
                target_prefix=prefixes if prefixes[0] else None,
                beam_size=config.beam if config.strategy == "beam" else 1,
                patience=1,
                num_hypotheses=config.n_best,
                length_penalty=config.length_penalty,
                coverage_penalty=0,
                repetition_penalty=config.repetition_penalty,
                no_repeat_ngram_size=min(config.no_repeat_ngram, most),  # it takes numbers of 32 bits
                min_decoding_length=min(config.min_length, most),
                max_decoding_length=most,
                max_input_length=0,
                return_scores=True,
                return_end_token=True,
                sampling_topk=self._top_k(config),
                sampling_topp=config.top_p or 1.0,
                sampling_temperature=config.temperature if config.temperature > COLDEST else 0,
                callback=watching,
            )
        finally:
            if watching is not None:
                error = watching.let_go()
                self._watched.discard(watching)
        if error is not None:
            raise error
        return results

    def _top_k(self, config: DecodeConfig) -> int:
        """How many tokens to sample from: 1 is the likeliest, 0 all."""
        if config.strategy != "sample" or config.top_p == 0:
            return 1
        return min(config.top_k or 0, len(self._target_pieces))

    def _batches(self, lengths: list[tuple[int, int]], hypotheses: int = 1) -> list[list[int]]:
        """What goes together, where each sentence has so many hypotheses."""
        rows = max(1, min(SENTENCES, HYPOTHESES // hypotheses)) if self.compute_type == "int8" else 1
        return list(equal_lengths(lengths, rows))

    def _hypothesis(self, pieces: list[str], score: float) -> Hypothesis:
        tokens = tuple([self._target_ids[piece] for piece in pieces])
        ended = bool(tokens) and tokens[-1] == END
        return Hypothesis(tokens[:-1] if ended else tokens, score, ended)

    def _pieces(self, source: Ids) -> list[str]:
        return [self._source_pieces[number] for number in source]

    def _named(self, target: Ids) -> list[str]:
        return [self._target_pieces[number] for number in target]


def _let_go(reference: weakref.ref[CTranslate2Engine]) -> None:
    """Stop the workers before Python ends."""
    engine = reference()
    if engine is not None:
        for watching in list(engine._watched):
            watching.end()
        engine._translator = None


def _open(directory: Path, compute_type: ComputeType | None, workers: int) -> Any:
    """Load what ships with the model, unless another compute type is asked for; else the form that is made on first
    use (int8, if nothing is asked for) and kept in the cache under the hash of all it is made of."""
    shipped = directory / SHIPPED
    if compute_type is None and (shipped / "model.bin").is_file() and made_of(shipped, directory):
        return _load(shipped, workers)
    compute_type = compute_type or "int8"
    path = cache_directory() / "ctranslate2" / f"{content_hash(directory)}-{compute_type}-{FORM}"
    try:
        if not path.is_dir():
            convert(directory, path, compute_type)
    except OSError:  # where nothing can be kept, it is made each time
        with tempfile.TemporaryDirectory() as folder:
            convert(directory, Path(folder) / "model", compute_type)
            return _load(Path(folder) / "model", workers)
    return _load(path, workers)


def _load(path: Path, workers: int) -> Any:
    from ctranslate2 import Translator

    try:
        return Translator(str(path), device="cpu", compute_type="default", inter_threads=workers, intra_threads=1)
    except (RuntimeError, ValueError) as error:
        remedy = "the folder is damaged: delete it, and it is made anew from the weights"
        raise UserError(f"CTranslate2 cannot load it: {error}", str(path), remedy) from error
