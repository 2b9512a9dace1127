"""BPE dropout: in each epoch a word is segmented differently, so that the model learns what the pieces mean.

The dropout of the `tokenizers` library uses a random generator that cannot be seeded. Here the pieces are a pure
function of the seed, the epoch and the pair, so that a resumed training is exactly the uninterrupted one.
"""

from __future__ import annotations

import json
from heapq import heapify, heappop, heappush
from random import Random

from pellucid.text.tokenizer import Tokenizer, Tokenizers


class BpeDropout:
    """Encodes both sides of pairs, skipping each merge with probability `rate`."""

    def __init__(self, tokenizers: Tokenizers, rate: float, seed: int) -> None:
        self.rate = rate
        self.seed = seed
        self._source = Merges(tokenizers.source)
        self._target = self._source if tokenizers.joint else Merges(tokenizers.target)

    def source(self, text: str, epoch: int, pair: int) -> list[int]:
        return self._source.encode(text, self.rate, self._random(epoch, pair, 0))

    def target(self, text: str, epoch: int, pair: int) -> list[int]:
        return self._target.encode(text, self.rate, self._random(epoch, pair, 1))

    def _random(self, epoch: int, pair: int, side: int) -> Random:
        return Random(((self.seed << 32 | epoch) << 64 | pair) << 1 | side)


class Merges:
    """The merges of a tokenizer, replayed with some of them skipped."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = json.loads(tokenizer.to_json())["model"]
        self.tokenizer = tokenizer
        self.ids: dict[str, int] = model["vocab"]
        # (left id, right id) -> (rank: the lower, the sooner; id of both together)
        self.ranks = {
            (self.ids[left], self.ids[right]): (rank, self.ids[left + right])
            for rank, (left, right) in enumerate(model["merges"])
        }

    def encode(self, text: str, rate: float, random: Random) -> list[int]:
        """As `Tokenizer.encode`, which it equals at rate 0; at rate 1 the ids are those of the bytes."""
        ids = self.ids
        pieces: list[int] = []
        for word in self.tokenizer.words(text):
            pieces += self._merged([ids[byte] for byte in word], rate, random)
        return pieces

    def _merged(self, pieces: list[int], rate: float, random: Random) -> list[int]:
        """Apply the merge of the lowest rank, leftmost first, until none is left. Before each, every candidate that
        would come first is passed over with the chance `rate`, until after the next merge."""
        ranks, draw = self.ranks, random.random
        end = len(pieces)
        after = list(range(1, end + 1))  # position of the next piece; merged pieces live at their leftmost position
        before = list(range(-1, end - 1))
        merges = [(*found, at) for at in range(end - 1) if (found := ranks.get((pieces[at], pieces[at + 1])))]
        heapify(merges)  # of (rank, id of both together, position of the left one)
        passed: list[tuple[int, int, int]] = []
        while merges:
            merge = heappop(merges)
            _, whole, left = merge
            right = after[left]
            # Earlier merges may have used up either piece: then the merge is stale.
            if right == end or ranks.get((pieces[left], pieces[right])) != merge[:2]:
                continue
            if draw() < rate:
                passed.append(merge)
                continue
            pieces[left] = whole
            pieces[right] = -1
            after[left] = beyond = after[right]
            if beyond < end:
                before[beyond] = left
                if found := ranks.get((whole, pieces[beyond])):
                    heappush(merges, (*found, left))
            if (previous := before[left]) >= 0 and (found := ranks.get((pieces[previous], whole))):
                heappush(merges, (*found, previous))
            while passed:
                heappush(merges, passed.pop())
        return [piece for piece in pieces if piece >= 0]
