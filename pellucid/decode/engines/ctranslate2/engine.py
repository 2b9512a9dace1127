"""The CTranslate2 engine, with every setting of CTranslate2 given explicitly.

The same sentence always gives the same numbers, whatever goes through the engine beside it. In int8, batches of equal
length are bit for bit the same as single sentences (whole numbers have no rounding to reorder). In float32 the last
digits depend on how many rows are multiplied at once, so there each sentence goes alone. One thread works on a
sentence, and several sentences are worked on at once: the number of workers changes the speed, never a result.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil, nan
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.cores import cores
from pellucid.decode.engines import ComputeType, EngineName, Ids
from pellucid.decode.engines.batches import by_language, equal_lengths
from pellucid.decode.engines.ctranslate2.convert import check_supported, converted_positions
from pellucid.decode.engines.ctranslate2.converted_models import ConvertedModel, ConvertedModels
from pellucid.decode.engines.ctranslate2.token_callback import TokenCallback
from pellucid.decode.hypotheses import (
    Hypothesis,
    OnToken,
    Sentence,
    Stop,
    StoppedError,
    hypotheses,
    max_length,
    search_tokens,
)
from pellucid.model_directory import ModelDirectory
from pellucid.text.tokenizer import END

LOWEST_TEMPERATURE = 1e-6  # below it the most probable token is taken; CTranslate2 would divide by it in float32
# Maxima of one batch, found by trying: for 1,000 sentences a model with d_model 128 takes 0.96 of the time with 80
# hypotheses at once instead of 160; one with d_model 256 takes 1.05 times as long.
SENTENCES, HYPOTHESES, HYPOTHESES_OF_WIDE = 32, 80, 160
WIDE = 256
# Fewer sentences are not divided among workers. More are: 16 of 64 tokens take 0.6 of the time on two cores.
WORTH_DIVIDING = 8


Job = TypeVar("Job")
Result = TypeVar("Result")


class Batch(NamedTuple):
    """Sentences that are searched for together: by which converted model, and their places in the request."""

    model: ConvertedModel
    places: list[int]


class CTranslate2Engine:
    name: EngineName = "ctranslate2"

    def __init__(self, directory: ModelDirectory, compute_type: ComputeType | None = None) -> None:
        self.config = directory.config
        check_supported(self.config)
        self.workers = cores()
        self.restriction = directory.restriction
        self._models = ConvertedModels(directory, compute_type, self.workers)
        self._callbacks: set[TokenCallback] = set()
        atexit.register(_release, weakref.ref(self))
        tokenizers = directory.tokenizers
        self._source_pieces = tokenizers.source.pieces(range(len(tokenizers.source)))
        same = tokenizers.joint
        self._target_pieces = self._source_pieces if same else tokenizers.target.pieces(range(len(tokenizers.target)))
        self._target_ids = {piece: number for number, piece in enumerate(self._target_pieces)}

    @property
    def compute_type(self) -> ComputeType:
        """Of the model with the whole vocabulary."""
        return self._models.get().compute_type

    def unsupported(self, config: DecodeConfig, longest: int) -> str:
        if config.seed is not None and config.strategy == "sample":
            return "CTranslate2 has no seed for a single request"
        if config.stopping == "exact" and config.strategy == "beam":
            return "CTranslate2 has a stopping rule of its own"
        positions = converted_positions(self.config)
        if positions is not None and longest > positions:
            return f"the converted model has {positions} positions, and the text is {longest} tokens long"
        return ""

    def search(
        self,
        sentences: Sequence[Sentence],
        config: DecodeConfig,
        on_token: OnToken | None = None,
        stop: Stop | None = None,
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in sentences]
        batches = self._batches(sentences, config)

        def run(batch: Batch) -> list[Any]:
            if stop is not None and stop():
                raise StoppedError
            return self._search(batch, [sentences[place] for place in batch.places], config, _watched(on_token, stop))

        for batch, results in zip(batches, map_in_threads(run, batches, self.workers), strict=True):
            for place, result in zip(batch.places, results, strict=True):
                found[place] = [
                    self._hypothesis(pieces, score)
                    for pieces, score in zip(result.hypotheses, result.scores or [nan], strict=True)
                ]
        return found

    def logits(self, source: Ids, target: Ids) -> NDArray[np.floating]:
        """The target is forced on a greedy search, which reports the logits of every step."""
        [result] = self._models.get().translator.translate_batch(
            [self._to_source_pieces(source)],
            target_prefix=[self._to_target_pieces(target[:-1])],
            beam_size=1,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=len(target),
            return_logits_vocab=True,
        )
        return np.stack([np.array(step) for step in result.logits[0]]).reshape(len(target), -1)

    def align(self, pairs: Sequence[tuple[Sentence, Ids]]) -> list[NDArray[np.floating]]:
        """The targets are forced on a greedy search, which reports the attention of every step."""
        found: list[NDArray[np.floating]] = [np.zeros((0, 0))] * len(pairs)
        as_prefixes = [sentence._replace(prefix=tuple(target)) for sentence, target in pairs]
        batches = self._batches(as_prefixes, DecodeConfig(strategy="greedy"))

        def run(batch: Batch) -> list[Any]:
            forced = [as_prefixes[place] for place in batch.places]
            results: list[Any] = batch.model.translator.translate_batch(
                [self._to_source_pieces(each.source_ids) for each in forced],
                target_prefix=[self._to_target_pieces(each.prefix[:-1]) for each in forced],
                beam_size=1,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=len(forced[0].prefix),
                return_end_token=True,
                return_attention=True,
            )
            return results

        for batch, results in zip(batches, map_in_threads(run, batches, self.workers), strict=True):
            for place, result in zip(batch.places, results, strict=True):
                found[place] = np.array(result.attention[0])
        return found

    def score(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[NDArray[np.floating]]:
        model = self._models.get()
        batches = self._equal_lengths(model, [(len(source), len(target)) for source, target in pairs])
        scores: list[NDArray[np.floating]] = [np.zeros(0)] * len(pairs)

        def run(places: list[int]) -> list[Any]:
            sources = [self._to_source_pieces(pairs[place][0]) for place in places]
            targets = [self._to_target_pieces(pairs[place][1][:-1]) for place in places]  # the end is added
            results: list[Any] = model.translator.score_batch(sources, targets, max_input_length=0)
            return results

        for places, results in zip(batches, map_in_threads(run, batches, self.workers), strict=True):
            for place, result in zip(places, results, strict=True):
                scores[place] = np.array(result.log_probs)
        return scores

    def _batches(self, sentences: Sequence[Sentence], config: DecodeConfig) -> list[Batch]:
        """Batches of one kind, the longest first. (One prefix changes how CTranslate2 treats sentences without.)"""
        batches = []
        for language, into_it in by_language(sentences, self.restriction).items():
            model = self._models.get(language)
            lengths = [(len(sentences[place].source_ids), len(sentences[place].prefix)) for place in into_it]
            searched = [search_tokens(sentences[place], config, converted_positions(self.config)) for place in into_it]
            for places in self._equal_lengths(model, lengths, hypotheses(config), searched):
                batches.append(Batch(model, [into_it[place] for place in places]))
        return sorted(batches, key=lambda batch: -len(sentences[batch.places[0]].source_ids))

    def _equal_lengths(
        self,
        model: ConvertedModel,
        lengths: list[tuple[int, int]],
        hypotheses: int = 1,
        searched: list[int] | None = None,
    ) -> list[list[int]]:
        """Batches of equal lengths, where each sentence has so many hypotheses (which have so many tokens `searched`
        at most): at most a worker's share of all."""
        share = max(WORTH_DIVIDING, ceil(len(lengths) / self.workers))
        most = HYPOTHESES_OF_WIDE if self.config.d_model >= WIDE else HYPOTHESES
        rows = max(1, min(SENTENCES, most // hypotheses, share)) if model.compute_type == "int8" else 1
        return list(equal_lengths(lengths, rows, searched))

    def _search(
        self, batch: Batch, sentences: list[Sentence], config: DecodeConfig, on_token: OnToken | None
    ) -> list[Any]:
        prefixes = [self._to_target_pieces(sentence.prefix) for sentence in sentences]
        most = max_length(sentences[0], config, converted_positions(self.config))
        top_k, temperature = _sampling(config, batch.model)
        callback = None
        if on_token is not None and config.strategy != "beam":
            callback = TokenCallback(on_token, batch.places, len(sentences[0].prefix), self._target_ids)
            self._callbacks.add(callback)
        error = None
        try:
            results: list[Any] = batch.model.translator.translate_batch(
                [self._to_source_pieces(sentence.source_ids) for sentence in sentences],
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
                return_scores=config.scores or config.n_best > 1,
                return_end_token=True,
                sampling_topk=top_k,
                sampling_topp=config.top_p or 1.0,
                sampling_temperature=temperature,
                callback=callback,
            )
        finally:
            if callback is not None:
                error = callback.release()
                self._callbacks.discard(callback)
        if error is not None:
            raise error
        return results

    def _hypothesis(self, pieces: list[str], score: float) -> Hypothesis:
        tokens = tuple([self._target_ids[piece] for piece in pieces])
        ended = bool(tokens) and tokens[-1] == END
        return Hypothesis(tokens[:-1] if ended else tokens, score, ended)

    def _to_source_pieces(self, source: Ids) -> list[str]:
        return [self._source_pieces[number] for number in source]

    def _to_target_pieces(self, target: Ids) -> list[str]:
        return [self._target_pieces[number] for number in target]


def _release(reference: weakref.ref[CTranslate2Engine]) -> None:
    """Stop the workers before the interpreter ends."""
    engine = reference()
    if engine is not None:
        for callback in list(engine._callbacks):
            callback.end()
        engine._models.close()


def _watched(on_token: OnToken | None, stop: Stop | None) -> OnToken | None:
    """A callback that also ends the search when `stop` says so. CTranslate2 calls one in greedy search and sampling; a
    beam search it runs to the end, so `stop` is asked between its batches, whose work is bounded."""
    if stop is None:
        return on_token

    def watch(sentence: int, token: int) -> None:
        if stop():
            raise StoppedError
        if on_token is not None:
            on_token(sentence, token)

    return watch


def _sampling(config: DecodeConfig, model: ConvertedModel) -> tuple[int, float]:
    """From how many tokens to draw (1: the most probable, 0: all), and the temperature. Where only the most probable
    token can be drawn, the temperature is 0 instead: with one token CTranslate2 gives no second hypothesis."""
    if config.strategy != "sample":
        return 1, 1.0
    if config.top_k == 1 or config.top_p == 0 or config.temperature <= LOWEST_TEMPERATURE:
        return 0, 0.0
    return min(config.top_k or 0, model.vocabulary), config.temperature


def map_in_threads(run: Callable[[Job], Result], jobs: Sequence[Job], workers: int) -> Iterator[Result]:
    """The results in the order of the jobs. A single job runs in the calling thread."""
    if workers == 1 or len(jobs) < 2:
        yield from map(run, jobs)
        return
    # One thread more waits with the next job, so that no worker does: 1,000 sentences take 0.98 of the time.
    with ThreadPoolExecutor(min(workers + 1, len(jobs))) as pool:
        yield from pool.map(run, jobs)
