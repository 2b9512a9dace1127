"""Where the tags of a text belong in its translation: around the words that its words became.

An element encloses the stretch of target words that is aligned most with the source words it enclosed. A tag that
stands alone goes before the word that followed it. Elements stay in one another as they were.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pellucid.decode.markup.tags import Node, Tag, nested
from pellucid.decode.markup.words import Floats, Word

MOST_TAGS, MOST_NESTED = 2_000, 200  # in one text
TAKEN = -1e6  # the gain of a word that another element has
Stretch = tuple[int, int]


class Aligned(NamedTuple):
    """A sentence: its words in the text and in the translation, by number from first to last, and their weights."""

    source: Stretch
    target: Stretch
    weights: Floats  # (target word, source word)


class Alignment:
    """The words of a text and of its translation, and which belong together. Sentences follow one another."""

    def __init__(self, source: Sequence[Word], target: Sequence[Word], sentences: Sequence[Aligned]) -> None:
        self.source, self.target, self.sentences = source, target, sentences
        self._starts = [word.start for word in source]
        self._ends = [word.end for word in source]
        self._sentence_starts = [sentence.source[0] for sentence in sentences]

    def words_within(self, start: int, end: int) -> Stretch:
        """The source words that some of these characters belong to."""
        first = bisect_right(self._ends, start)
        return first, max(first, bisect_left(self._starts, end)) if start < end else first

    def shares(self, source: Stretch, target: Stretch) -> Floats:
        """How much each target word belongs to these source words, from 0 to 1, (target word,): the mean of the share
        of its weight that lies on them, and of the share of their weight that is its own."""
        found = np.zeros(target[1] - target[0])
        at = max(0, bisect_right(self._sentence_starts, source[0]) - 1)
        for sentence in self.sentences[at:]:
            if sentence.source[0] >= source[1]:
                break
            first, last = max(sentence.target[0], target[0]), min(sentence.target[1], target[1])
            if first >= last:
                continue
            rows = sentence.weights[first - sentence.target[0] : last - sentence.target[0]]
            columns = slice(max(0, source[0] - sentence.source[0]), max(0, source[1] - sentence.source[0]))
            of_target = rows[:, columns].sum(axis=1) / np.maximum(rows.sum(axis=1), 1e-9)
            totals = np.maximum(sentence.weights[:, columns].sum(axis=0), 1e-9)  # (source word,)
            of_source = np.minimum((rows[:, columns] / totals).sum(axis=1), 1.0)
            found[first - target[0] : last - target[0]] = (of_target + of_source) / 2
        return found


def place_tags(tags: Sequence[Tag], alignment: Alignment, length: int) -> tuple[Tag, ...]:
    """The tags in the order and at the places that they have in a translation of `length` characters. So many tags, or
    so deeply nested, as nobody writes are spread evenly in their order, which takes no time."""
    nodes = nested(tags, MOST_NESTED) if len(tags) <= MOST_TAGS else None
    if nodes is None:
        return tuple([tag._replace(place=length * number // len(tags)) for number, tag in enumerate(tags)])
    everything = (0, len(alignment.source)), (0, len(alignment.target))
    return tuple(_Placing(alignment, length).place(nodes, *everything))


class _Placing:
    def __init__(self, alignment: Alignment, length: int) -> None:
        self.alignment, self.length = alignment, length

    def place(self, nodes: Sequence[Node], source: Stretch, target: Stretch) -> Iterator[Tag]:
        """The tags of elements beside one another, whose words are within a stretch of the text, in one of the
        translation."""
        chosen: list[tuple[int, int, int, Node]] = []  # first target word, the one after the last, order
        free = np.ones(target[1] - target[0], bool)
        for order, node in sorted(enumerate(nodes), key=lambda each: -self._size(each[1])):
            first, last = self._words(node)
            if first == last:
                continue
            start, end = self._stretch((first, last), source, target, free)
            free[start - target[0] : end - target[0]] = False
            chosen.append((start, end, order, node))
        for order, node in enumerate(nodes):
            first, last = self._words(node)
            if first == last:
                point = self._point(first, source, target)
                taken = next((each for each in chosen if each[0] < point < each[1]), None)
                point = point if taken is None else min(taken[:2], key=lambda edge: abs(edge - point))
                chosen.append((point, point, order, node))
        for start, end, _, node in sorted(chosen, key=lambda each: each[:3]):
            yield from self._written(node, start, end, target)

    def _written(self, node: Node, start: int, end: int, target: Stretch) -> Iterator[Tag]:
        words = self.alignment.target
        if start < end:
            yield node.start._replace(place=words[start].start)
            yield from self.place(node.inside, self._words(node), (start, end))
            if node.end:
                yield node.end._replace(place=words[end - 1].end)
            return
        place = self._between(start, target)
        yield node.start._replace(place=place)
        for each in node.inside:
            yield from self._written(each, start, end, target)
        if node.end:
            yield node.end._replace(place=place)

    def _between(self, word: int, target: Stretch) -> int:
        """Before a target word; at the end of the stretch, after its last word."""
        words = self.alignment.target
        if word < target[1]:
            return words[word].start
        if word > 0:
            return words[word - 1].end
        return self.length

    def _words(self, node: Node) -> Stretch:
        start = node.start.place
        return self.alignment.words_within(start, node.end.place if node.end else start)

    def _size(self, node: Node) -> int:
        first, last = self._words(node)
        return last - first

    def _stretch(self, own: Stretch, source: Stretch, target: Stretch, free: NDArray[np.bool_]) -> Stretch:
        """The free stretch of target words whose weight on the own source words exceeds that on others most."""
        if own[0] <= source[0] and own[1] >= source[1] and free.all() and len(free):
            return target
        gain = np.where(free, self.alignment.shares(own, target) - 0.5, TAKEN)  # (target word,)
        if not free.any():
            return target[1], target[1]
        if gain.max() <= 0:
            best = int(gain.argmax())
            return target[0] + best, target[0] + best + 1
        sums = np.concatenate([[0.0], gain.cumsum()])
        lowest = np.minimum.accumulate(sums)
        end = int((sums[1:] - lowest[:-1]).argmax()) + 1
        start = int(sums[:end].argmin())
        return target[0] + start, target[0] + end

    def _point(self, word: int, source: Stretch, target: Stretch) -> int:
        """Before which target word a tag belongs that stands before a source word."""
        if word >= source[1]:
            return target[1]
        if word <= source[0]:
            return target[0]
        shares = self.alignment.shares((word, word + 1), target)
        return target[0] + int(shares.argmax()) if len(shares) and shares.max() > 0 else target[1]
