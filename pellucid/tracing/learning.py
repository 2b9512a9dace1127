"""A model watched while it learned: what it made of one sentence at each step of which its run kept a snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.config import DecodeConfig
from pellucid.decode.sentences import SourceText, read_documents
from pellucid.decode.translator import Translator
from pellucid.errors import UserError
from pellucid.model_directory.snapshots import Sample, Snapshots
from pellucid.reference.functions import Array
from pellucid.tracing.explain import SHORT, explain_target, given_target
from pellucid.tracing.plain import plain
from pellucid.tracing.trace import DecodingStep, Head, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The plain data of a trace: what all moments have in common, and what differs.
COMMON = (
    *("text", "translation", "source", "target", "notes", "config", "kept", "labels", "functions"),
    *("source_tokens", "target_in", "target_out"),
)
DIFFERENT = ("heads", "alignment", "values")
CANDIDATES = 3  # the likeliest of a step, in the plain data


@dataclass(frozen=True)
class Watched:
    """A sentence and what it should become, to be looked at in every snapshot of a run."""

    snapshots: Snapshots
    source: SourceText
    target: tuple[int, ...]  # ids, with the end
    given: bool  # False: the target is what the last snapshot makes of the sentence

    def at(self, step: int) -> Trace:
        """The whole trace at a step."""
        translator = Translator(self.snapshots.at(step), "reference")
        return explain_target(translator, self.source, self.target, max(SHORT, 2 * len(self.target)))

    def moments(self) -> Iterator[Moment]:
        """What every snapshot makes of it, in order."""
        for step in self.snapshots.steps:
            yield moment(step, self.at(step))

    def plain(self) -> dict[str, Any]:
        """What all moments have in common, as plain data."""
        steps = self.snapshots.steps
        data = _attention_data(self.at(steps[-1]))
        formulas = [each for each in data["formulas"] if each["value"] in data["values"]]
        trace = {name: data[name] for name in COMMON} | {"formulas": formulas}
        return {"run": self.snapshots.run, "given": self.given, "steps": steps, "trace": trace}


@dataclass(frozen=True, eq=False, repr=False)
class Moment:
    """What the model made of the sentence at one step of its training."""

    step: int
    translation: str  # its own, by beam search
    ended: bool  # False: the search was stopped at its greatest length
    loss: float  # cross-entropy of the target: nats per token, the end included
    steps: tuple[DecodingStep, ...]  # of the target
    heads: tuple[Head, ...]
    weights: Mapping[str, Array]  # attention by the name of its value: (heads, query, key)
    alignment: Array  # (target, source)
    data: Mapping[str, Any]  # all of it as plain data

    def __repr__(self) -> str:
        return f"<Moment step {self.step}, {self.translation[:60]!r}, loss {self.loss:.3f}>"

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Those of the target's tokens."""
        return tuple(step.chosen.probability for step in self.steps)


@dataclass(frozen=True, eq=False, repr=False)
class Learning:
    """One sentence at every kept step of a run."""

    watched: Watched
    moments: tuple[Moment, ...]

    def __repr__(self) -> str:
        run, steps = self.watched.snapshots.run, len(self.moments)
        return f"<Learning {self.watched.source.text[:60]!r} → {self.target[:60]!r}, run {run}, {steps} snapshots>"

    def _repr_html_(self) -> str:
        from pellucid.tracing.pictures.notebook import learning_page

        return learning_page(self)

    def plot(self) -> Figure:
        """A picture (matplotlib) of the loss and of the probability of each token at every step."""
        from pellucid.tracing.pictures.figures import learning_figure

        return learning_figure(self)

    @property
    def target(self) -> str:
        """What the sentence should become."""
        tokenizer = self.watched.snapshots.at(self.moments[-1].step).tokenizers.target
        return tokenizer.decode(self.watched.target)

    @property
    def target_tokens(self) -> tuple[str, ...]:
        return tuple(step.chosen.text for step in self.moments[-1].steps)

    def at(self, step: int) -> Trace:
        """The whole trace of the same sentence and target at a step."""
        return self.watched.at(step)

    def to_dict(self) -> dict[str, Any]:
        return self.watched.plain() | {"moments": [dict(moment.data) for moment in self.moments]}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), separators=(",", ":"), allow_nan=False)

    def to_html(self) -> str:
        """A page in one file that needs nothing else, with a scrubber over the steps."""
        from pellucid.tracing.packed import packed_learning
        from pellucid.web.bundle import offline_page

        title = f"{self.watched.source.text}: how {self.watched.snapshots.run} learned it"
        styles = ("theme.css", "trace/trace.css", "labs/labs.css", "learning/learning.css")
        return offline_page(title, packed_learning(self), "learning.js", *styles)


def watch(
    run: Snapshots | str | Path,
    text: str | None = None,
    source: str | None = None,
    target: str | None = None,
    *,
    target_text: str | None = None,
) -> Learning:
    """Look at one sentence at every step of which a run kept a snapshot.

    `run` is a run directory, or the name of a run that ships. Without a text it is the pair that the run held out.
    `target_text` is what the sentence should become: without it, it is what the last snapshot makes of the sentence.
    Loss, probabilities and attention are those of this one target at every step; the translation is the model's own.
    """
    snapshots = run if isinstance(run, Snapshots) else Snapshots.find(run)
    watched = watched_sentence(snapshots, text, source, target, target_text=target_text)
    return Learning(watched, tuple(watched.moments()))


def watched_sentence(
    snapshots: Snapshots,
    text: str | None = None,
    source: str | None = None,
    target: str | None = None,
    *,
    target_text: str | None = None,
) -> Watched:
    """The sentence with its direction and its target, checked against the last snapshot."""
    last = Translator(snapshots.at(snapshots.steps[-1]), "reference")
    sample = snapshots.sample
    if text is None:
        if sample is None:
            raise UserError("the run kept no sentence to look at", "text", "give one")
        text, target_text = sample.text, target_text or sample.target_text
        source, target = _known(sample, last)
    [source_text] = last.source_texts([text], source, target)
    ids = _own(last, source_text) if target_text is None else given_target(last, target_text)
    return Watched(snapshots, source_text, tuple(ids), target_text is not None)


def _known(sample: Sample, translator: Translator) -> tuple[str | None, str | None]:
    """The languages of the sample, where the model has them."""
    direction = (sample.source, sample.target)
    return direction if direction in translator.languages.directions else (None, None)


def _own(translator: Translator, source_text: SourceText) -> Sequence[int]:
    """What the model makes of the first sentence of a text."""
    [document] = read_documents([source_text], translator.tokenizers, translator.length_limit, split=False)
    if not document.sentences:
        raise UserError("there is nothing to translate in it", "text", "give a sentence")
    config = DecodeConfig()
    [[best]] = translator.engine(config).search(document.sentences[:1], config)
    return best.with_end


def moment(step: int, trace: Trace) -> Moment:
    """What of a trace at a step is kept."""
    best, loss = trace.beam.finished[0], -trace.scores[-1].score
    own = {"step": step, "translation": best.text, "ended": best.ended, "loss": loss}
    weights = _weights(trace)
    every = _attention_data(trace)
    steps = [
        {"chosen": step["chosen"], "rank": step["rank"], "candidates": step["candidates"][:CANDIDATES]}
        for step in every["steps"]
    ]
    data = {**own, "steps": steps, **{name: every[name] for name in DIFFERENT}}
    return Moment(step, best.text, best.ended, loss, trace.steps, trace.heads, weights, trace.alignment, data)


def _attention_data(trace: Trace) -> dict[str, Any]:
    """The plain data of a trace, of its values the attention weights."""
    return plain(replace(trace, values=_weights(trace)))


def _weights(trace: Trace) -> dict[str, Array]:
    return {name: value for name, value in trace.values.items() if name.endswith(".weights")}
