"""How good the model is by now: the loss on held-out pairs, and what it makes of some of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np
import torch
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.hypotheses import Sentence
from pellucid.decode.search import search
from pellucid.evaluation.metrics import bleu, chrf, exact_match
from pellucid.nn import Cache, Transformer
from pellucid.text.batch import Batch, ordered_batches, pad
from pellucid.text.corpus import Corpus
from pellucid.training.loss.batch_loss import batch_loss


@dataclass(frozen=True)
class Validation:
    """Scores of one validation. Without translations BLEU, chrF and exact match are None."""

    loss: float  # nats a token, without label smoothing
    bleu: float | None = None
    chrf: float | None = None
    exact_match: float | None = None
    sample: tuple[str, str, str] | None = None  # source, translation, target

    @property
    def perplexity(self) -> float:
        return exp(min(self.loss, 700.0))


@torch.no_grad()
def valid_loss(model: Transformer, corpus: Corpus, pairs: NDArray[np.uint32], batch_tokens: int) -> float:
    """Loss a token over all the pairs."""
    model.eval()
    total, count = 0.0, 0
    for numbers in ordered_batches(corpus, batch_tokens, pairs):
        batch = Batch.of(corpus, numbers)
        total += batch_loss(model, batch).item()
        count += batch.target_tokens
    model.train()
    return total / count


def validate(
    model: Transformer, corpus: Corpus, pairs: NDArray[np.uint32], batch_tokens: int, translate: int
) -> Validation:
    """Loss over all pairs; scores over translations, greedy for speed, of `translate` of them."""
    loss = valid_loss(model, corpus, pairs, batch_tokens)
    evenly = np.linspace(0, len(pairs) - 1, min(translate, len(pairs))).astype(int)  # both directions, all topics
    chosen = [int(pair) for pair in pairs[evenly]]
    if not chosen:
        return Validation(loss)
    model.eval()
    texts = [
        corpus.tokenizers.target.decode(tokens) for tokens in greedy(model, [corpus.source_ids(p) for p in chosen])
    ]
    model.train()
    references = [corpus.text(pair)[1] for pair in chosen]
    example = len(chosen) // 2
    sample = corpus.text(chosen[example])[0], texts[example], references[example]
    scores = bleu(texts, references).score, chrf(texts, references).score, exact_match(texts, references).score
    return Validation(loss, *scores, sample)


@torch.inference_mode()
def greedy(model: Transformer, sources: list[list[int]], rows: int = 64) -> list[tuple[int, ...]]:
    """Translations of the model as it stands in training, in batches of sources of like length."""
    device = model.source_embedding.weight.device

    def step(tokens: NDArray[np.int64], cache: Cache) -> tuple[NDArray[np.floating], Cache]:
        logits, cache = model.step(torch.from_numpy(np.ascontiguousarray(tokens)).to(device), cache)
        return logits.float().cpu().numpy(), cache

    found: dict[int, tuple[int, ...]] = {}
    order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
    for first in range(0, len(order), rows):
        places = order[first : first + rows]
        ids, real = pad([sources[place] for place in places])
        source, keep = torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device)
        cache = model.start(model.encode(source, keep), keep)
        sentences = [Sentence(tuple(sources[place])) for place in places]
        hypotheses = search(step, cache, sentences, DecodeConfig(strategy="greedy"), model.config.max_positions)
        found |= {place: best.tokens for place, (best, *_) in zip(places, hypotheses, strict=True)}
    return [found[place] for place in range(len(sources))]
