"""Validation: the loss on held-out pairs, and BLEU, chrF and exact match of greedy translations of some of them."""

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
    """The scores of one validation. Without translations BLEU, chrF and exact match are None."""

    loss: float  # nats per token, without label smoothing
    bleu: float | None = None
    chrf: float | None = None
    exact_match: float | None = None
    sample: tuple[str, str, str] | None = None  # source, translation, target

    @property
    def perplexity(self) -> float:
        return exp(min(self.loss, 700.0))

    @property
    def scores(self) -> dict[str, float | None]:
        """As log.jsonl has them."""
        own = {"bleu": self.bleu, "chrf": self.chrf, "exact_match": self.exact_match}
        return {"valid_loss": self.loss, "perplexity": self.perplexity, **own}


@torch.no_grad()
def valid_loss(model: Transformer, corpus: Corpus, pairs: NDArray[np.uint32], batch_tokens: int) -> float:
    """Loss per token over all the pairs."""
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
    """The loss over all pairs, and the scores of greedy translations of `translate` of them."""
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
    middle = len(chosen) // 2
    sample = corpus.text(chosen[middle])[0], texts[middle], references[middle]
    scores = bleu(texts, references).score, chrf(texts, references).score, exact_match(texts, references).score
    return Validation(loss, *scores, sample)


@torch.inference_mode()
def greedy(model: Transformer, sources: list[list[int]], rows: int = 64) -> list[tuple[int, ...]]:
    """Translations by the model in training, in batches of sources of similar length."""
    device = model.source_embedding.weight.device

    def step(tokens: NDArray[np.int64], cache: Cache) -> tuple[NDArray[np.floating], Cache]:
        logits, cache = model.step(torch.from_numpy(np.ascontiguousarray(tokens)).to(device), cache)
        return logits.float().cpu().numpy(), cache

    found: dict[int, tuple[int, ...]] = {}
    order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
    for first in range(0, len(order), rows):
        places = order[first : first + rows]
        source, real = (torch.from_numpy(array).to(device) for array in pad([sources[place] for place in places]))
        cache = model.start(model.encode(source, real), real)
        sentences = [Sentence(tuple(sources[place])) for place in places]
        hypotheses = search(step, cache, sentences, DecodeConfig(strategy="greedy"), model.config.max_positions)
        found |= {place: best.tokens for place, (best, *_) in zip(places, hypotheses, strict=True)}
    return [found[place] for place in range(len(sources))]
