"""When a run keeps a snapshot of its weights: evenly from its first step to its last."""

from __future__ import annotations

from pellucid.model_directory.snapshots import Sample
from pellucid.training.data import Data
from pellucid.training.run.directory import WRITE_REMEDY
from pellucid.training.state import Training


class SnapshotSchedule:
    """The `snapshots` of a run divide it into equal parts, and the last one is that of its end.

    The parts are of steps where their number is known (the limit is steps or epochs), and of time where it is limited
    by minutes. Where both are, the one that has come further counts. Whether a snapshot is due at a step follows from
    the progress before and after it, so a resumed run keeps the same ones.
    """

    def __init__(self, training: Training) -> None:
        self._place = place(training)
        if training.progress.step == 0 and training.config.snapshots > 1 and training.group.is_main:
            save_snapshot(training)

    def save_if_due(self, training: Training) -> None:
        """Save a snapshot if a part of the run ends with this step. It is written before the checkpoint of the step."""
        before, self._place = self._place, place(training)
        if self._place > before:
            save_snapshot(training)


def place(training: Training) -> int:
    """How many of the parts are done."""
    progress, parts = training.progress, training.config.snapshots - 1
    if parts < 1:
        return 0
    done = 0
    if training.total_steps is not None:
        done = progress.step * parts // training.total_steps
    if training.config.minutes:
        done = max(done, int(progress.seconds * parts / (60 * training.config.minutes)))
    return min(done, parts)


def save_snapshot(training: Training) -> None:
    training.run.snapshots.save(training.progress.step, training.model.arrays(), WRITE_REMEDY)


def sample(data: Data) -> Sample | None:
    """A pair to watch: the validation pair in the middle."""
    if not len(data.valid_pairs):
        return None
    pair = int(data.valid_pairs[len(data.valid_pairs) // 2])
    return Sample(*data.valid_corpus.text(pair), *data.valid_corpus.languages(pair))
