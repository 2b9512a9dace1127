"""The error of a loss that is infinite or not a number."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.errors import UserError
from pellucid.text.batch import Batch
from pellucid.text.corpus import Corpus


def not_finite(step: int, corpus: Corpus, batches: Sequence[Batch]) -> UserError:
    """Names the pairs of the batches; without batches, the pairs at fault are those of another process."""
    places = [corpus.place(int(pair)) for batch in batches for pair in batch.pairs]
    shown = ", ".join(places[:20]) + (f" and {len(places) - 20} more" if len(places) > 20 else "")
    return UserError(
        f"the loss is not a finite number at step {step}; the weights were not changed",
        f"pairs {shown}" if places else "pairs of another process",
        "check these lines, lower learning_rate or raise warmup; --resume continues from the last checkpoint",
    )
