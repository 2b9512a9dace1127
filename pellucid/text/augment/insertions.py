"""Names exchanged, and emoji, codes, addresses, placeholders and numbers put in at the same place of both sides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from pellucid.text.augment.values import code, emoji, name, value
from pellucid.text.lexicon import WORD

NAME_LENGTH = 3  # letters at least: shorter capitalised words (I, Du) are seldom names
Anchor = tuple[str, str]
"""A word of the source and its counterpart in the target, each there once."""


def names(source: str, target: str) -> list[str]:
    """The capitalised words that both sides have, each once: names of people and places."""
    first, second = Counter(WORD.findall(source)), Counter(WORD.findall(target))
    return [
        word
        for word, count in first.items()
        if count == 1 == second[word] and len(word) >= NAME_LENGTH and word[0].isupper() and not word.isupper()
    ]


def exchange_names(source: str, target: str, known: Sequence[str], random: Random) -> tuple[str, str]:
    """Another name in place of each that both sides have: one of those `known`, or an invented one."""
    for old in names(source, target):
        new = random.choice(known) if known and random.random() < 0.4 else name(random)
        source, target = _replaced(source, old, new), _replaced(target, old, new)
    return source, target


def insert(
    source: str, target: str, languages: tuple[str, str], words: Mapping[str, str], random: Random
) -> tuple[str, str]:
    """Something that is no word, at the same place of both sides: at an end, beside a word whose counterpart is
    certain, or instead of it."""
    draw = random.random()
    added = value(languages, random) if draw < 0.25 else (emoji(random),) * 2 if draw < 0.6 else (code(random),) * 2
    anchors = _anchors(source, target, words)
    place = random.choice(("start", "end", "after", *(("beside", "instead", "instead") if anchors else ())))
    if place in ("beside", "instead"):
        anchor = random.choice(anchors)
        keep = "{0} {1}" if place == "beside" else "{1}"
        return _replaced(source, anchor[0], keep.format(anchor[0], added[0])), _replaced(
            target, anchor[1], keep.format(anchor[1], added[1])
        )
    shape = {
        "start": random.choice(("{1} {0}", "{1}: {0}", "{1} - {0}")),
        "end": "{0} {1}",
        "after": random.choice(("{0} ({1}){2}", "{0} {1}{2}", "{0}: {1}{2}")),
    }[place]
    return _placed(source, added[0], shape), _placed(target, added[1], shape)


def _anchors(source: str, target: str, words: Mapping[str, str]) -> list[Anchor]:
    """The words that are there once and whose counterpart is there once: names, and the certain ones of the lexicon
    of at least four letters (the short ones are mostly articles and prepositions)."""
    first, second = Counter(WORD.findall(source)), Counter(WORD.findall(target))
    certain = [
        (word, words[word])
        for word, count in first.items()
        if count == 1 and len(word) > NAME_LENGTH and word in words and second[words[word]] == 1
    ]
    return certain + [(word, word) for word in names(source, target)]


def _placed(text: str, added: str, shape: str) -> str:
    body = text.rstrip(".!?…") if "{2}" in shape else text
    return shape.format(body, added, text[len(body) :])


def _replaced(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)
