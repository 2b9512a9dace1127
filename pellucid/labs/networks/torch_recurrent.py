"""A recurrent encoder-decoder of torch's own RNN and LSTM.

It has the methods that the product calls on its Transformer, so that batches, loss and greedy search are the product's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

Kind = Literal["RNN", "LSTM", "LSTM with attention"]
State = Tensor | tuple[Tensor, Tensor]  # (1, rows, hidden); the LSTM has two


class Memory(NamedTuple):
    """What the encoder hands on: its output at every position, which only attention reads, and its last state."""

    outputs: Tensor  # (rows, source, hidden)
    state: State


class Cache(NamedTuple):
    """What the decoder keeps between two steps of a greedy search."""

    outputs: Tensor
    real: Tensor  # (rows, source)
    state: State

    def select(self, sentences: Sequence[int], beams: Sequence[int]) -> Cache:  # noqa: ARG002
        """Some of the rows; greedy search has one hypothesis in each."""
        rows = torch.as_tensor(sentences)
        if isinstance(self.state, tuple):
            state: State = (self.state[0][:, rows], self.state[1][:, rows])
        else:
            state = self.state[:, rows]
        return Cache(self.outputs[rows], self.real[rows], state)


class Recurrent(nn.Module):
    """Embedding -> encoder -> its last state is the decoder's first -> decoder -> logits.

    With attention, each step of the decoder also reads a weighted mean of the encoder's outputs (Luong et al. 2015).
    """

    def __init__(self, kind: Kind, vocabulary: int, hidden: int) -> None:
        super().__init__()
        layer = nn.RNN if kind == "RNN" else nn.LSTM
        self.source_embedding = nn.Embedding(vocabulary, hidden)
        self.encoder = layer(hidden, hidden, batch_first=True)
        self.decoder = layer(hidden, hidden, batch_first=True)
        attends = kind == "LSTM with attention"
        self.query = nn.Linear(hidden, hidden, bias=False) if attends else None
        self.mix = nn.Linear(2 * hidden, hidden) if attends else None
        self.output = nn.Linear(hidden, vocabulary)

    def encode(self, source: Tensor, source_real: Tensor) -> Memory:
        """Ids and which are real, both (rows, source). Packed, so that the last state is of the last real token."""
        embedded = self.source_embedding(source)
        if bool(source_real.all()):
            return Memory(*self.encoder(embedded))
        packed = pack_padded_sequence(embedded, source_real.sum(dim=1), batch_first=True, enforce_sorted=False)
        outputs, state = self.encoder(packed)
        return Memory(pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])[0], state)

    def features(self, target_in: Tensor, memory: Memory, source_real: Tensor, _: Tensor | None = None) -> Tensor:
        """The whole shifted target -> (rows, target, hidden)."""
        return self._decode(target_in, memory.outputs, source_real, memory.state)[0]

    def start(self, memory: Memory, source_real: Tensor) -> Cache:
        return Cache(memory.outputs, source_real, memory.state)

    def step(self, tokens: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """One token of every sentence, (rows, 1) -> logits (rows, 1, vocabulary) and the next cache."""
        features, state = self._decode(tokens, cache.outputs, cache.real, cache.state)
        return self.output(features), cache._replace(state=state)

    def _decode(self, tokens: Tensor, outputs: Tensor, real: Tensor, state: State) -> tuple[Tensor, State]:
        features, state = self.decoder(self.source_embedding(tokens), state)
        if self.query is None or self.mix is None:
            return features, state
        scores = self.query(features) @ outputs.transpose(1, 2)  # (rows, target, source)
        weights = scores.masked_fill(~real[:, None], float("-inf")).softmax(dim=-1)
        # a mean of the source beside each position: (rows, target, 2 * hidden) -> (rows, target, hidden)
        return torch.tanh(self.mix(torch.cat([features, weights @ outputs], dim=-1))), state


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def recurrent(kind: Kind, vocabulary: int, parameters: int, seed: int) -> Recurrent:
    """The model of a kind whose number of parameters is nearest to that asked for."""
    with torch.device("meta"):
        sizes = {hidden: count_parameters(Recurrent(kind, vocabulary, hidden)) for hidden in range(8, 257, 4)}
    hidden = min(sizes, key=lambda size: abs(sizes[size] - parameters))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Recurrent(kind, vocabulary, hidden)
