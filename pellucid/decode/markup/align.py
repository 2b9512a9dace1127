"""Which words of a translation belong to which words of its text, by the attention of the alignment heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pellucid.decode.engines import Ids
from pellucid.decode.markup.placing import Aligned, Alignment
from pellucid.decode.markup.words import (
    Floats,
    Word,
    find_words,
    similarity,
    source_tokens,
    target_tokens,
    word_of_token,
    word_weights,
)
from pellucid.decode.sentences import Document
from pellucid.text.tokenizer import Tokenizers

Decode = Callable[[Sequence[Ids]], list[str]]


def align_document(
    document: Document, targets: Sequence[Ids], attention: Sequence[NDArray[np.floating]], tokenizers: Tokenizers,
    decode: Decode,
) -> Alignment:  # fmt: skip
    """`targets` are the tokens of the translation of each sentence, and `attention` is that of the alignment heads,
    (target token, source token). What is not translated belongs to itself."""
    source: list[Word] = []
    target: list[Word] = []
    sentences: list[Aligned] = []
    following = iter(zip(targets, attention, strict=True))
    start = target_start = 0
    before = len(tokenizers.language_tag(document.direction[1]))
    for span in document.spans:
        if span.sentence is None:
            text = span.text
            words = translated = [] if text.isspace() else [Word(0, len(text), text)]
            weights = np.ones((len(words), len(words)))
        else:
            words = find_words(span.text)
            tokens, found = next(following)
            texts = decode([tokens[:end] for end in range(1, len(tokens) + 1)])
            text = texts[-1] if texts else ""
            translated = find_words(text)
            of_source = word_of_token(source_tokens(tokenizers.source, span.text, before), words)
            weights = _word_weights(
                found, of_source, words, word_of_token(target_tokens(texts), translated), translated
            )
        first, target_first = len(source), len(target)
        source += [_moved(word, start) for word in words]
        target += [_moved(word, target_start) for word in translated]
        sentences.append(Aligned((first, len(source)), (target_first, len(target)), weights))
        start, target_start = start + len(span.text), target_start + len(text)
    return Alignment(source, target, sentences)


def _word_weights(
    attention: NDArray[np.floating],
    of_source: Sequence[int],
    source: Sequence[Word],
    of_target: Sequence[int],
    target: Sequence[Word],
) -> Floats:
    if not (source and target):
        return np.zeros((len(target), len(source)))
    sizes = len(target), len(source)
    return similarity(word_weights(np.asarray(attention, np.float64), of_source, of_target, sizes), source, target)


def _moved(word: Word, by: int) -> Word:
    return word._replace(start=word.start + by, end=word.end + by)
