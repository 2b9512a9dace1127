"""From text to text: sentences -> ids -> engine: encode, search -> text, joined as the sentences came."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import islice
from math import nan
from pathlib import Path

from pellucid.config import DecodeConfig, Stopping, Strategy
from pellucid.decode.documents import LINE_END, Part, read
from pellucid.decode.engines import ComputeType, Engine, EngineChoice, EngineName, check_choices, open_engine
from pellucid.decode.models import DEFAULT, find_model
from pellucid.decode.placeholders import ADDRESSES, ADDRESSES_AND_PLACEHOLDERS, Kept, has_address, unmask
from pellucid.decode.search import Hypothesis, Sentence
from pellucid.decode.streaming import tokens_as_they_come, what_is_added
from pellucid.decode.translation import Said, Translation, joined, written
from pellucid.decode.ways import Way, find_way, find_ways
from pellucid.errors import UserError
from pellucid.model_files import read_config
from pellucid.text.languages import FILE as LANGUAGES
from pellucid.text.languages import LanguageIdentifier
from pellucid.text.limits import USUAL, load_longest
from pellucid.text.pair import is_language
from pellucid.text.tokenizer import END, Tokenizers

BETWEEN_STOPS = 64  # sentences of usual length between two questions whether to stop
USUAL_TOKENS = 16  # of a sentence; where more are asked for, there are fewer sentences between

Stop = Callable[[], bool]


class StoppedError(Exception):
    """Nobody wants the translation any more."""


def load(
    name_or_dir: str | Path = DEFAULT, engine: EngineChoice = "auto", *, compute_type: ComputeType | None = None
) -> Translator:
    """A model ready to translate: a shipped one by name, or a model or run directory."""
    return Translator(find_model(name_or_dir), engine, compute_type)


class Translator:
    """A model with its tokenizers, its languages and its engines, which are opened when they are needed."""

    def __init__(self, directory: Path, engine: EngineChoice = "auto", compute_type: ComputeType | None = None) -> None:
        check_choices(engine, compute_type)
        self.directory = directory
        self.config = read_config(directory)
        self.tokenizers = Tokenizers.load(directory)
        self.languages = LanguageIdentifier.load(directory / LANGUAGES)
        places = self.config.max_positions or sys.maxsize
        self.longest = min(load_longest(directory), places)  # tokens of a source sentence; a longer one is cut
        self.most_tokens = max(self.longest, min(USUAL, places))  # of what is only looked at
        self._readable = cache(lambda token: self.tokenizers.target.readable([token])[0])
        self._choice = engine
        self._compute_type = compute_type
        self._engines: dict[EngineName, Engine] = {}
        self._opening = threading.Lock()

    def translate(
        self,
        text: str | Sequence[str],
        source: str | None = None,
        target: str | None = None,
        *,
        strategy: Strategy = "beam",
        beam: int = 5,
        length_penalty: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        temperature: float = 1.0,
        seed: int | None = None,
        n_best: int = 1,
        min_length: int = 0,
        max_length: int | None = None,
        repetition_penalty: float = 1.0,
        no_repeat_ngram: int = 0,
        stopping: Stopping = "ctranslate2",
        scores: bool = True,
        prefix: str | Sequence[str] | None = None,
        protect: bool = False,
        split: bool | None = None,
    ) -> Translation | list[Translation]:
        """Translate a text, or each of a list.

        `source` and `target` are language codes; left out (or source="auto") they are the only ones possible, else the
        source is detected. `prefix` is what the target must begin with, one for each text or one for all. `protect`
        keeps placeholders and tags whole, as addresses in a language always are. `split` says whether texts are split
        into sentences; by default they are if they are in a language, not where a model turns reports into summaries.
        The other settings are those of `DecodeConfig`.
        """
        config = DecodeConfig(
            strategy=strategy,
            beam=beam,
            length_penalty=length_penalty,
            top_k=top_k,
            top_p=top_p,
            temperature=temperature,
            seed=seed,
            n_best=n_best,
            min_length=min_length,
            max_length=max_length,
            repetition_penalty=repetition_penalty,
            no_repeat_ngram=no_repeat_ngram,
            stopping=stopping,
            scores=scores,
        )
        translations = self.translate_all(_texts(text), source, target, config, prefix, protect, split)
        return translations[0] if isinstance(text, str) else translations

    def translate_all(
        self,
        texts: Sequence[str],
        source: str | None = None,
        target: str | None = None,
        config: DecodeConfig | None = None,
        prefix: str | Sequence[str] | None = None,
        protect: bool = False,
        split: bool | None = None,
        stop: Stop | None = None,
    ) -> list[Translation]:
        """A translation for each text, in their order. No text's translation depends on the others. `stop` is asked
        every few sentences whether to go on; once it says so, the work ends with `StoppedError`."""
        config = config or DecodeConfig()
        ways = find_ways(self.languages, texts, source, target)
        begin = _prefixes(prefix, len(texts))
        translations = self._translate(texts, ways, begin, config, split, stop)
        kept = ADDRESSES_AND_PLACEHOLDERS if protect else ADDRESSES
        lost = [
            place
            for place, (text, translation) in enumerate(zip(texts, translations, strict=True))
            if (protect or (is_language(ways[place][0] or "") and has_address(text)))
            and not kept.came_through(text, translation.text)
        ]
        if not lost:
            return translations
        masked = [kept.mask(texts[place]) for place in lost]
        second = self._translate(
            [text for text, _ in masked],
            [ways[place] for place in lost],
            [begin[place] for place in lost],
            config,
            split,
            stop,
        )
        for place, translation, (_, stand_ins) in zip(lost, second, masked, strict=True):
            restored = replace(translation, text=unmask(translation.text, stand_ins), alternatives=())
            if not kept.came_through(texts[place], restored.text):
                restored = self._by_piece(kept, texts[place], ways[place], begin[place], config, split, stop)
            translations[place] = restored
        return translations

    def stream(
        self, text: str, source: str | None = None, target: str | None = None, config: DecodeConfig | None = None
    ) -> Iterator[str]:
        """The translation as it comes: token by token with greedy search and sampling, sentence by sentence with a
        beam, whose best hypothesis is not known before its end."""
        config = (config or DecodeConfig(strategy="greedy")).changed(scores=False)
        if config.n_best > 1:
            raise UserError("a stream shows one translation", "n_best", "leave it out")
        [document] = read([text], [self.way(text, source, target)], self.tokenizers, self.longest)
        for part in document.parts:
            yield from self._stream(part, config) if part.source else [part.text]

    def way(self, text: str, source: str | None = None, target: str | None = None) -> Way:
        """From which language into which: as asked, else the only possibility, else by what the text looks like."""
        return find_way(self.languages, text, source, target)

    def engine(self, config: DecodeConfig, longest: int = 0) -> Engine:
        """The engine that will do this: the one asked for, or the fastest that can."""
        reason = ""
        for name in self._able:
            engine = self.open(name)
            reason = engine.refuses(config, longest)
            if not reason:
                return engine
        raise UserError(reason, "engine", "use engine 'auto', 'torch' or 'reference'")

    @cached_property  # looking for torch takes as long as reading a sentence
    def _able(self) -> list[EngineName]:
        """The engines that may be asked, the fastest first."""
        if self._choice != "auto":
            return [self._choice]
        names: list[EngineName] = ["reference"]
        if find_spec("torch") is not None:
            names.insert(0, "torch")
        if self.config.norm != "batch":
            names.insert(0, "ctranslate2")
        return names

    def open_all(self) -> None:
        """Have ready whatever a request may need, so that what is wrong with the model is told now."""
        for source, target in self.languages.directions or [(None, None)]:
            self.translate("a", source, target)
        self.engine(DecodeConfig()).score([((END,), (END,))])

    def open(self, name: EngineName) -> Engine:
        """The engine of that name, opened once."""
        with self._opening:
            if name not in self._engines:
                self._engines[name] = open_engine(name, self.directory, self.tokenizers, self._compute_type)
            return self._engines[name]

    def _translate(
        self,
        texts: Sequence[str],
        ways: Sequence[Way],
        prefixes: Sequence[str],
        config: DecodeConfig,
        split: bool | None,
        stop: Stop | None,
    ) -> list[Translation]:
        documents = read(texts, ways, self.tokenizers, self.longest, split)
        begin = [self.tokenizers.target.encode(prefix) if prefix else [] for prefix in prefixes]
        sentences = [document.sentences(prefix) for document, prefix in zip(documents, begin, strict=True)]
        found = self._search([sentence for each in sentences for sentence in each], config, stop)
        every = iter(self._say([hypothesis for hypotheses in found for hypothesis in hypotheses], config.scores))
        said = iter([list(islice(every, len(hypotheses))) for hypotheses in found])
        return [
            written(document, list(islice(said, len(each))))
            for document, each in zip(documents, sentences, strict=True)
        ]

    def _search(self, sentences: Sequence[Sentence], config: DecodeConfig, stop: Stop | None) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence. One that comes twice is searched for once, where chance has no say."""
        if not sentences:
            return []
        chance = config.strategy == "sample" and config.seed is None
        different = list(sentences) if chance else list(dict.fromkeys(sentences))
        engine = self.engine(config, max(len(sentence.source) for sentence in different))
        found = engine.search(different, config) if stop is None else _search_until(stop, engine, different, config)
        if chance:
            return found
        results = dict(zip(different, found, strict=True))
        return [results[sentence] for sentence in sentences]

    def _say(self, hypotheses: Sequence[Hypothesis], scored: bool) -> list[Said]:
        """Ids -> text."""
        texts = self._spoken([hypothesis.tokens for hypothesis in hypotheses])
        return [
            Said(text, score if scored else nan, tuple(map(self._readable, tokens)))
            for text, (tokens, score, _) in zip(texts, hypotheses, strict=True)
        ]

    def _spoken(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """What sentences say. Each is one line, as its source was, whatever a model may say."""
        return [LINE_END.sub(" ", text) for text in self.tokenizers.target.decode_batch(sentences)]

    def _text(self, tokens: Sequence[int]) -> str:
        return self._spoken([tokens])[0]

    def _by_piece(
        self,
        kept: Kept,
        text: str,
        way: Way,
        prefix: str,
        config: DecodeConfig,
        split: bool | None,
        stop: Stop | None,
    ) -> Translation:
        """The text between what is kept, translated piece by piece; a prefix begins the first piece."""
        pieces = kept.pieces(text)
        wanted = [piece for piece, is_text in pieces if is_text]
        prefixes = [prefix, *[""] * len(wanted)][: len(wanted)]
        translations = self._translate(wanted, [way] * len(wanted), prefixes, config, split, stop)
        texts = iter(translations)
        # A model may make such a thing up; what it made of a piece must not.
        made = [kept.without(next(texts).text) if is_text else piece for piece, is_text in pieces]
        whole = "".join(made)
        if not kept.came_through(text, whole):  # where no space was between, an address may seem to go on
            whole = " ".join(made)
        return joined(whole, translations, way, notes=tuple([note for each in translations for note in each.notes]))

    def _stream(self, part: Part, config: DecodeConfig) -> Iterator[str]:
        sentence = Sentence(part.source)
        engine = self.engine(config, len(part.source))
        if config.strategy == "beam":
            yield self._text(engine.search([sentence], config)[0][0].tokens)
            return
        yield from what_is_added(tokens_as_they_come(engine, sentence, config), self._text)


def _search_until(
    stop: Stop, engine: Engine, sentences: Sequence[Sentence], config: DecodeConfig
) -> list[list[Hypothesis]]:
    found: list[list[Hypothesis]] = []
    step = max(1, BETWEEN_STOPS * USUAL_TOKENS // max(USUAL_TOKENS, config.min_length))
    for start in range(0, len(sentences), step):
        if stop():
            raise StoppedError
        found += engine.search(sentences[start : start + step], config)
    return found


def _texts(given: object) -> list[str]:
    """A text or several, as a list."""
    several = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]
    texts = [each for each in several if isinstance(each, str)]
    if len(texts) < len(several):
        wrong = next(each for each in several if not isinstance(each, str))
        raise UserError(f"is {type(wrong).__name__}, not str", "text", "give a text or a list of texts")
    return texts


def _prefixes(prefix: str | Sequence[str] | None, count: int) -> list[str]:
    if prefix is None or isinstance(prefix, str):
        return [prefix or ""] * count
    if len(prefix) != count:
        raise UserError(f"{len(prefix)} prefixes for {count} texts", "prefix", "give one for each text, or one for all")
    return list(prefix)
