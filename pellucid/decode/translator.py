"""Translating, top to bottom: text -> sentences -> ids -> engine: encode, search -> ids -> text, assembled."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import islice
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.config import DEFAULT_MODEL, DecodeConfig, EngineConfig
from pellucid.config.decode import ComputeType, EngineChoice
from pellucid.decode.directions import find_directions
from pellucid.decode.engines import Engine, EngineName, open_engine
from pellucid.decode.hypotheses import Hypothesis, Sentence, Stop, search_tokens
from pellucid.decode.protected_spans import translate_protected
from pellucid.decode.sentences import LINE_END, Document, SourceText, read_documents, take_tags_out
from pellucid.decode.streaming import added_text, tokens_as_chosen
from pellucid.decode.translation import SentenceTranslation, Translation, assemble
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.length_limit import DEFAULT as DEFAULT_LENGTH_LIMIT
from pellucid.text.languages import Languages
from pellucid.text.tokenizer import END

if TYPE_CHECKING:
    from pellucid.decode.markup.placing import Alignment


def load(
    name_or_dir: str | Path = DEFAULT_MODEL, engine: EngineChoice = "auto", *, compute_type: ComputeType | None = None
) -> Translator:
    """A model ready to translate: a shipped one by name, or a model or run directory."""
    return Translator(ModelDirectory.find(name_or_dir), engine, compute_type)


class Translator:
    """A model directory and its engines, which are opened when they are needed."""

    def __init__(
        self, directory: ModelDirectory | Path, engine: EngineChoice = "auto", compute_type: ComputeType | None = None
    ) -> None:
        directory = ModelDirectory.at(directory)
        EngineConfig(engine=engine, compute_type=compute_type)  # rejects wrong words: they may come from a user
        self.directory = directory
        self.config = directory.config
        self.tokenizers = directory.tokenizers
        self.languages = directory.languages
        self.length_limit = min(directory.length_limit, directory.max_positions)
        self._token_text = cache(lambda token: self.tokenizers.target.readable([token])[0])
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
        prefix: str | Sequence[str] | None = None,
        protect: bool = False,
        split: bool | None = None,
        **settings: Any,
    ) -> Translation | list[Translation]:
        """Translate a text, or each of a list.

        `source` and `target` are language codes. A language that is not given (or source="auto") is the only one
        possible, else the source is detected. `prefix` is what the translation must begin with, one for each text or
        one for all. `protect` keeps placeholders and tags whole, as addresses in a language are. `split` decides
        whether texts are split into sentences: by default texts in a language, not reports to summarise. The other
        settings are those of `DecodeConfig`: strategy="beam", beam=5, length_penalty=1.0, n_best=1, ...
        """
        config = DecodeConfig(**settings)
        sources = self.source_texts(_text_list(text), source, target, prefix)
        translations = self.translate_all(sources, config, protect=protect, split=split)
        return translations[0] if isinstance(text, str) else translations

    def source_texts(
        self,
        texts: Sequence[str],
        source: str | None = None,
        target: str | None = None,
        prefix: str | Sequence[str] | None = None,
    ) -> list[SourceText]:
        """Texts with their directions, which are found here and nowhere later."""
        directions = find_directions(self.languages, texts, source, target)
        return list(map(SourceText, texts, directions, _prefixes(prefix, len(texts))))

    def translate_all(
        self,
        sources: Sequence[SourceText],
        config: DecodeConfig | None = None,
        *,
        protect: bool = False,
        split: bool | None = None,
        stop: Stop | None = None,
    ) -> list[Translation]:
        """A translation for each text, in their order. No translation depends on the other texts. `stop` is called
        at every step of a search, or every few sentences where the engine does not show its steps; once it returns
        True, the work ends with `StoppedError`."""
        config = config or DecodeConfig()

        def translate(sources: Sequence[SourceText]) -> list[Translation]:
            documents = read_documents(sources, self.tokenizers, self.length_limit, split)
            sentences = [sentence for document in documents for sentence in document.sentences]
            hypotheses = self._search(sentences, config, stop)
            translations = assemble(documents, self._to_text(hypotheses, config.scores))
            if any(source.tags for source in sources):
                from pellucid.decode.markup.tagged import with_places  # few texts have tags: 4 ms

                translations = with_places(translations, sources, documents, hypotheses, self._align, stop)
            return translations

        if not protect:
            return translate_protected(translate, sources, protect)
        found = translate_protected(translate, [take_tags_out(source) for source in sources], protect)
        return [translation.with_tags() for translation in found]

    def _align(self, document: Document, chosen: Sequence[Hypothesis]) -> Alignment:
        """Which words of a document and of the translations that were chosen for its sentences belong together."""
        from pellucid.decode.markup.align import align_document

        pairs = [(sentence, (*each.tokens, END)) for sentence, each in zip(document.sentences, chosen, strict=True)]
        longest = max((len(sentence.source_ids) for sentence, _ in pairs), default=0)
        attention = self.engine(DecodeConfig(), longest).align(pairs) if pairs else []
        targets = [each.tokens for each in chosen]
        return align_document(document, targets, attention, self.tokenizers, self._decode)

    def search_tokens(self, sources: Sequence[SourceText], config: DecodeConfig, split: bool | None = None) -> int:
        """The maximum number of tokens that the search for these texts computes, over all sentences and hypotheses."""
        documents = read_documents(sources, self.tokenizers, self.length_limit, split)
        positions = self.config.max_positions
        return sum(search_tokens(each, config, positions) for document in documents for each in document.sentences)

    def _search(self, sentences: Sequence[Sentence], config: DecodeConfig, stop: Stop | None) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence. Equal sentences are searched for once, unless the search is random."""
        if not sentences:
            return []
        random = config.strategy == "sample" and config.seed is None
        different = list(sentences) if random else list(dict.fromkeys(sentences))
        engine = self.engine(config, max(len(sentence.source_ids) for sentence in different))
        found = engine.search(different, config, stop=stop)
        if random:
            return found
        results = dict(zip(different, found, strict=True))
        return [results[sentence] for sentence in sentences]

    def _to_text(self, hypotheses: Sequence[Sequence[Hypothesis]], scored: bool) -> Iterator[list[SentenceTranslation]]:
        """Ids -> text: the hypotheses of each sentence as text."""
        every = [hypothesis for each in hypotheses for hypothesis in each]
        texts = self._decode([hypothesis.tokens for hypothesis in every])
        translations = iter(
            [
                SentenceTranslation(text, score if scored else nan, tuple(map(self._token_text, tokens)))
                for text, (tokens, score, _) in zip(texts, every, strict=True)
            ]
        )
        return iter([list(islice(translations, len(each))) for each in hypotheses])

    def _decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of token ids. A sentence stays on one line, as its source was."""
        return [LINE_END.sub(" ", text) for text in self.tokenizers.target.decode_batch(sentences)]

    def stream(
        self, text: str, source: str | None = None, target: str | None = None, config: DecodeConfig | None = None
    ) -> Iterator[str]:
        """The translation piece by piece: token by token with greedy search and sampling, sentence by sentence with a
        beam, whose best hypothesis is not known before its end."""
        config = (config or DecodeConfig(strategy="greedy")).changed(scores=False)
        if config.n_best > 1:
            raise UserError("a stream shows one translation", "n_best", "leave it out")
        [document] = read_documents(self.source_texts([text], source, target), self.tokenizers, self.length_limit)
        for span in document.spans:
            yield from [span.text] if span.sentence is None else self._stream(span.sentence, config)

    def _stream(self, sentence: Sentence, config: DecodeConfig) -> Iterator[str]:
        engine = self.engine(config, len(sentence.source_ids))
        if config.strategy == "beam":
            [[best]] = engine.search([sentence], config)
            yield from self._decode([best.tokens])
        else:
            tokens = tokens_as_chosen(engine, sentence, config)
            yield from added_text(tokens, lambda so_far: self._decode([so_far])[0])

    def direction(self, text: str, source: str | None = None, target: str | None = None) -> Languages:
        """From which language into which a text is translated."""
        return find_directions(self.languages, [text], source, target)[0]

    @property
    def max_tokens(self) -> int:
        """Maximum tokens of a text that is only scored or explained, and never cut."""
        return max(self.length_limit, min(DEFAULT_LENGTH_LIMIT, self.directory.max_positions))

    def engine(self, config: DecodeConfig, longest: int = 0) -> Engine:
        """The requested engine, or the fastest that can do what is asked of sources of `longest` tokens."""
        reason = ""
        for name in self._candidates:
            engine = self.open(name)
            reason = engine.unsupported(config, longest)
            if not reason:
                return engine
        raise UserError(reason, "engine", "use engine 'auto', 'torch' or 'reference'")

    @cached_property  # looking for torch takes as long as reading a sentence
    def _candidates(self) -> list[EngineName]:
        """The engines that may be used, the fastest first."""
        if self._choice != "auto":
            return [self._choice]
        names: list[EngineName] = ["reference"]
        if find_spec("torch") is not None:
            names.insert(0, "torch")
        if self.config.norm != "batch":
            names.insert(0, "ctranslate2")
        return names

    def open(self, name: EngineName) -> Engine:
        """The engine of that name, opened once."""
        with self._opening:
            if name not in self._engines:
                self._engines[name] = open_engine(name, self.directory, self._compute_type)
            return self._engines[name]

    def open_all(self) -> None:
        """Open whatever a request may need, so that a fault of the model is reported now."""
        for source, target in self.languages.directions or [(None, None)]:
            self.translate("a", source, target)
        self.engine(DecodeConfig()).score([((END,), (END,))])


def _text_list(given: object) -> list[str]:
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
