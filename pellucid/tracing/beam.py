"""The beam search of the reference as a tree: every candidate, its score, and whether it was continued or pruned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pellucid.config import DecodeConfig
from pellucid.decode.engines.batches import restricted
from pellucid.decode.engines.reference import ReferenceEngine
from pellucid.decode.hypotheses import Ranking, Sentence
from pellucid.decode.search import search
from pellucid.text.tokenizer import Tokenizer
from pellucid.tracing.trace import Beam, Fate, Finished, Node
from pellucid.tracing.what_if import ChangedReference


def traced_beam_search(
    engine: ReferenceEngine | ChangedReference,
    sentence: Sentence,
    config: DecodeConfig,
    tokenizer: Tokenizer,
    engine_found: Sequence[int] | None = None,
) -> Beam:
    """Search with the reference and keep the whole tree. `engine_found` is what the search of an engine found."""
    cache = engine.start(np.array([sentence.source_ids]))
    rankings: list[Ranking] = []
    every = config.changed(n_best=config.beam)
    step = restricted(engine.step, engine.allowed(sentence))
    [found] = search(step, cache, [sentence], every, engine.model.config.max_positions, on_ranking=rankings.append)
    best = found[0].with_end
    return Beam(
        width=config.beam,
        length_penalty=config.length_penalty,
        nodes=tree(rankings, config.length_penalty, best, tokenizer),
        finished=tuple(Finished(tokenizer.decode(each.tokens), each.score, each.ended) for each in found),
        agrees=engine_found is None or best == list(engine_found),
    )


def tree(
    rankings: Sequence[Ranking], length_penalty: float, best: Sequence[int], tokenizer: Tokenizer
) -> tuple[Node, ...]:
    """Every candidate of every step as a node below the hypothesis it continues, for a search of one sentence."""
    nodes: list[Node] = []
    places = [-1]  # the node at each place of the beam; the start is not a node
    last_best = -1  # the last node of the best hypothesis so far
    for step, ranking in enumerate(rankings):
        living, following = ranking.living[0].tolist(), {}
        previous_best = last_best
        for rank in np.flatnonzero(np.isfinite(ranking.log_prob[0])).tolist():
            token, log_prob = int(ranking.tokens[0, rank]), float(ranking.log_prob[0, rank])
            fate: Fate = "ended" if ranking.ended[0, rank] else "lived" if rank in living else "died"
            parent = places[ranking.beams[0, rank]]
            is_best = parent == previous_best and step < len(best) and token == best[step]
            if is_best:
                last_best = len(nodes)
            following[rank] = len(nodes)
            score = log_prob / (step + 1) ** length_penalty
            [text] = tokenizer.readable([token])
            nodes.append(Node(step, parent, token, text, log_prob, score, fate, is_best))
        places = [following.get(rank, -1) for rank in living]
    return tuple(nodes)


def path(nodes: Sequence[Node], place: int) -> Iterator[Node]:
    """The nodes of a hypothesis, the last one first."""
    while place >= 0:
        yield nodes[place]
        place = nodes[place].parent
