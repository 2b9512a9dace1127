"""Verification of a model's engines: each against the float64 reference, and each against itself in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from pellucid.config import DecodeConfig
from pellucid.decode.engines import ComputeType, EngineName
from pellucid.decode.sentences import SourceText
from pellucid.decode.translator import Translator
from pellucid.model_directory import ModelDirectory
from pellucid.text.tokenizer import END, Tokenizer

TOLERANCE = 1e-4  # of the largest logit: rounding in float32 stays far below
SAMPLE = {
    "en": (
        "Where is the nearest station?",
        "I would like two coffees and a glass of water, please.",
        "The meeting was moved to Thursday at half past nine.",
        "She has lived in this town since she was a child.",
        "It is raining; take your umbrella with you!",
        "On 14 March 1987 they sold 2,350 copies.",
        "No.",
        "If we had known how far it was, we would have taken the train.",
    ),
    "de": (
        "Wo ist der nächste Bahnhof?",
        "Ich hätte gern zwei Kaffee und ein Glas Wasser.",
        "Die Besprechung wurde auf Donnerstag um halb zehn verlegt.",
        "Sie lebt seit ihrer Kindheit in dieser Stadt.",
        "Es regnet; nimm deinen Regenschirm mit!",
        "Am 14. März 1987 verkauften sie 2.350 Exemplare.",
        "Nein.",
        "Wenn wir gewusst hätten, wie weit es ist, hätten wir den Zug genommen.",
    ),
}
RANDOM_TEXTS = 12
ENGINES: tuple[tuple[str, EngineName, ComputeType | None], ...] = (
    ("torch", "torch", None),
    ("ctranslate2 float32", "ctranslate2", "float32"),
    ("ctranslate2 int8", "ctranslate2", "int8"),
)


@dataclass(frozen=True)
class TextDifference:
    """A text whose translation by an engine differs from the reference's."""

    text: str
    reference: str
    engine: str


@dataclass(frozen=True)
class EngineCheck:
    """The result of checking one engine."""

    engine: str
    exact: bool  # whether it must give the reference's texts; int8 need not
    logit_gap: float  # largest difference to the reference's logits, as a part of the largest logit
    differences: list[TextDifference]
    batch_changes: list[str]  # texts whose translation depends on what goes with them

    @property
    def holds(self) -> bool:
        right = not self.exact or (self.logit_gap <= TOLERANCE and not self.differences)
        return right and not self.batch_changes


@dataclass(frozen=True)
class Verification:
    model: str
    texts: int
    engines: list[EngineCheck] = field(default_factory=list)
    tokenizer_losses: list[str] = field(default_factory=list)  # texts that do not come back
    unchecked: dict[str, str] = field(default_factory=dict)  # engines that were left out, and why

    @property
    def holds(self) -> bool:
        return all(engine.holds for engine in self.engines) and not self.tokenizer_losses

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}

    def paragraph(self) -> str:
        """For the model card."""
        parts = [
            f"{engine.engine} differs from the float64 reference by at most {engine.logit_gap:.1e} of the largest "
            f"logit and gives {self.texts - len(engine.differences)} of {self.texts} translations alike"
            for engine in self.engines
        ]
        batches = sum(len(engine.batch_changes) for engine in self.engines)
        dependence = "No translation depends" if not batches else f"{batches} translations depend"
        return f"Verified on {self.texts} texts: {'; '.join(parts)}. {dependence} on what is translated with it."


def verify(
    directory: ModelDirectory,
    texts: Sequence[str] = (),
    source: str | None = None,
    target: str | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Check every installed engine on the texts, or on a sample. `report` is called with each name before its check."""
    reference = Translator(directory, "reference")
    report("reference")
    sources = reference.source_texts(list(texts) or sample_texts(reference, source, target), source, target)
    expected = [translation.text for translation in reference.translate_all(sources)]
    unchecked = {}
    if find_spec("torch") is None:
        unchecked["torch"] = "it is not installed"
    if reference.config.norm == "batch":
        unchecked["ctranslate2"] = "it has no batch normalisation"
    checks = []
    for label, name, compute_type in ENGINES:
        if name not in unchecked:
            report(label)
            checks.append(_check(label, Translator(directory, name, compute_type), reference, sources, expected))
    tokenizers, originals = directory.tokenizers, [source.text for source in sources]
    losses = [text for text in originals if _is_lossy(tokenizers.source, text)]
    losses += [text for text in expected if _is_lossy(tokenizers.target, text)]
    return Verification(str(directory.path), len(sources), checks, losses, unchecked)


def sample_texts(translator: Translator, source: str | None = None, target: str | None = None) -> list[str]:
    """Sentences in the model's languages as far as there are any here, and random tokens, which are harder."""
    directions = translator.languages.directions
    codes = dict.fromkeys(s for s, t in directions if source in (None, "auto", s) and target in (None, t))
    known = [text for code in codes for text in SAMPLE.get(code, ())]
    rng = np.random.default_rng(1)
    tokenizer = translator.tokenizers.source
    first = END + 1 + len(tokenizer.languages)
    rows = (rng.integers(first, len(tokenizer), size=rng.integers(2, 16)) for _ in range(RANDOM_TEXTS))
    return known + [" ".join(tokenizer.decode(row.tolist()).replace("\ufffd", "").split()) for row in rows]


def _check(
    label: str, translator: Translator, reference: Translator, sources: list[SourceText], expected: list[str]
) -> EngineCheck:
    singly = [translator.translate_all([source])[0].text for source in sources]
    batched = [translation.text for translation in translator.translate_all(sources)]
    backwards = [translation.text for translation in translator.translate_all(sources[::-1])][::-1]
    rows = list(zip(sources, expected, singly, batched, backwards, strict=True))
    return EngineCheck(
        engine=label,
        exact="int8" not in label,
        logit_gap=max(_gap(translator, reference, source, right) for source, right, *_ in rows),
        differences=[TextDifference(source.text, right, one) for source, right, one, *_ in rows if one != right],
        batch_changes=[source.text for source, _, one, two, three in rows if not one == two == three],
    )


def _gap(translator: Translator, reference: Translator, source: SourceText, translation: str) -> float:
    """The largest difference of the logits of the reference's own translation, relative to the largest logit."""
    longest = reference.max_tokens
    source_ids = reference.tokenizers.encode_source(source.text, source.direction[1])[-longest:]
    target_ids = reference.tokenizers.encode_target(translation)[-longest:]
    right, found = (each.engine(DecodeConfig()).logits(source_ids, target_ids) for each in (reference, translator))
    return float(np.abs(found - right).max() / np.abs(right).max())


def _is_lossy(tokenizer: Tokenizer, text: str) -> bool:
    return tokenizer.decode(tokenizer.encode(text)) != tokenizer.normalise(text)
