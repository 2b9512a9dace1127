"""CTranslate2: the fastest engine on a CPU, told everything.

The same sentence always gives the same numbers, whatever goes through the engine beside it. In int8, batches of equal
length are bit for bit the same as single sentences (whole numbers have no rounding to reorder). In float32 the last
digits depend on how many rows are multiplied at once, so there each sentence goes alone. One thread works on a
sentence, and several sentences are worked on at once: the number of workers changes the speed, never a result.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Sequence
from math import ceil, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.engines import ComputeType, EngineName, Ids
from pellucid.decode.engines.batches import by_language, equal_lengths
from pellucid.decode.engines.convert import check_supported, converted_positions
from pellucid.decode.engines.forms import Form, Forms
from pellucid.decode.engines.watching import Watching
from pellucid.decode.engines.workers import Workers
from pellucid.decode.search import Hypothesis, Sentence, Watch, max_length
from pellucid.model_files import read_config
from pellucid.text.target_tokens import TargetTokens
from pellucid.text.tokenizer import END, Tokenizers

COLDEST = 1e-6  # a temperature below takes the likeliest token; CTranslate2 would divide by it in float32
# Of one batch at most, found by trying: for 1,000 sentences a model of width 128 takes 0.96 of the time with 80
# hypotheses at once instead of 160, one of width 256 takes 1.05 times as long.
SENTENCES, HYPOTHESES, HYPOTHESES_OF_WIDE = 32, 80, 160
WIDE = 256
# Fewer sentences are not divided among workers. More are: 16 of 64 tokens take 0.6 of the time on two cores.
WORTH_SHARING = 8


class Group(NamedTuple):
    """Sentences that are searched for together: by which form of the model, and where they stand in the request."""

    form: Form
    places: list[int]


class CTranslate2Engine:
    name: EngineName = "ctranslate2"

    def __init__(
        self,
        directory: Path,
        tokenizers: Tokenizers,
        target_tokens: TargetTokens,
        compute_type: ComputeType | None = None,
    ) -> None:
        self.config = read_config(directory)
        check_supported(self.config)
        self.workers = Workers()
        self.target_tokens = target_tokens
        self._forms = Forms(directory, target_tokens, compute_type, self.workers.most)
        self._watched: set[Watching] = set()
        atexit.register(_let_go, weakref.ref(self))
        self._source_pieces = tokenizers.source.pieces(range(len(tokenizers.source)))
        same = tokenizers.joint
        self._target_pieces = self._source_pieces if same else tokenizers.target.pieces(range(len(tokenizers.target)))
        self._target_ids = {piece: number for number, piece in enumerate(self._target_pieces)}

    @property
    def compute_type(self) -> ComputeType:
        """Of the form that says everything."""
        return self._forms.of().compute_type

    def refuses(self, config: DecodeConfig, longest: int) -> str:
        if config.seed is not None and config.strategy == "sample":
            return "CTranslate2 has no seed for a single request"
        if config.stopping == "exact" and config.strategy == "beam":
            return "CTranslate2 has a stopping rule of its own"
        positions = converted_positions(self.config)
        if positions is not None and longest > positions:
            return f"the converted model has {positions} positions, and the text is {longest} tokens long"
        return ""

    def search(
        self, sentences: Sequence[Sentence], config: DecodeConfig, watch: Watch | None = None
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in sentences]
        groups = self._groups(sentences, config.beam if config.strategy == "beam" else config.n_best)

        def run(group: Group) -> list[Any]:
            return self._search(group, [sentences[place] for place in group.places], config, watch)

        for group, results in zip(groups, self.workers.map(run, groups), strict=True):
            for place, result in zip(group.places, results, strict=True):
                found[place] = [
                    self._hypothesis(pieces, score)
                    for pieces, score in zip(result.hypotheses, result.scores or [nan], strict=True)
                ]
        return found

    def logits(self, source: Ids, target: Ids) -> NDArray[np.floating]:
        """The target is forced on a greedy search, which reports what it would have liked to say instead."""
        [result] = self._forms.of().translator.translate_batch(
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
        form = self._forms.of()
        batches = self._batches(form, [(len(source), len(target)) for source, target in pairs])
        scores: list[NDArray[np.floating]] = [np.zeros(0)] * len(pairs)

        def run(places: list[int]) -> list[Any]:
            sources = [self._pieces(pairs[place][0]) for place in places]
            targets = [self._named(pairs[place][1][:-1]) for place in places]  # the end is added
            results: list[Any] = form.translator.score_batch(sources, targets, max_input_length=0)
            return results

        for places, results in zip(batches, self.workers.map(run, batches), strict=True):
            for place, result in zip(places, results, strict=True):
                scores[place] = np.array(result.log_probs)
        return scores

    def _groups(self, sentences: Sequence[Sentence], hypotheses: int) -> list[Group]:
        """The sentences in batches of one kind (one prefix changes how CTranslate2 treats those without), the longest
        first."""
        groups = []
        for language, into_it in by_language(sentences, self.target_tokens).items():
            form = self._forms.of(language)
            lengths = [(len(sentences[place].source), len(sentences[place].prefix)) for place in into_it]
            for places in self._batches(form, lengths, hypotheses):
                groups.append(Group(form, [into_it[place] for place in places]))
        return sorted(groups, key=lambda group: -len(sentences[group.places[0]].source))

    def _batches(self, form: Form, lengths: list[tuple[int, int]], hypotheses: int = 1) -> list[list[int]]:
        """What goes together, where each sentence has so many hypotheses: at most a worker's share of all sentences."""
        share = max(WORTH_SHARING, ceil(len(lengths) / self.workers.count))
        most = HYPOTHESES_OF_WIDE if self.config.d_model >= WIDE else HYPOTHESES
        rows = max(1, min(SENTENCES, most // hypotheses, share)) if form.compute_type == "int8" else 1
        return list(equal_lengths(lengths, rows))

    def _search(self, group: Group, sentences: list[Sentence], config: DecodeConfig, watch: Watch | None) -> list[Any]:
        prefixes = [self._named(sentence.prefix) for sentence in sentences]
        most = max_length(sentences[0], config, converted_positions(self.config))
        top_k, temperature = _chance(config, group.form)
        watching = None
        if watch is not None and config.strategy != "beam":
            watching = Watching(watch, group.places, len(sentences[0].prefix), self._target_ids)
            self._watched.add(watching)
        error = None
        try:
            results: list[Any] = group.form.translator.translate_batch(
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
                return_scores=config.scores or config.n_best > 1,
                return_end_token=True,
                sampling_topk=top_k,
                sampling_topp=config.top_p or 1.0,
                sampling_temperature=temperature,
                callback=watching,
            )
        finally:
            if watching is not None:
                error = watching.let_go()
                self._watched.discard(watching)
        if error is not None:
            raise error
        return results

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
        engine._forms.close()


def _chance(config: DecodeConfig, form: Form) -> tuple[int, float]:
    """From how many tokens to draw (1: the likeliest, 0: all), and how warm. Where only the likeliest can be drawn, it
    is drawn coldly: of 1 token the engine gives no second hypothesis."""
    if config.strategy != "sample":
        return 1, 1.0
    if config.top_k == 1 or config.top_p == 0 or config.temperature <= COLDEST:
        return 0, 0.0
    return min(config.top_k or 0, form.tokens), config.temperature
