"""Proof that a model's engines are right: each against the float64 reference, and each against itself in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.config import DecodeConfig
from pellucid.decode.engines import ComputeType, EngineName
from pellucid.decode.translator import Translator
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
class Difference:
    """A text that an engine translates otherwise than the reference."""

    text: str
    reference: str
    engine: str


@dataclass(frozen=True)
class EngineProof:
    """What was found out about one engine."""

    engine: str
    exact: bool  # whether it promises the reference's texts; int8 does not
    logit_gap: float  # largest difference to the reference's logits, as a part of the largest logit
    differences: list[Difference]
    batch_changes: list[str]  # texts whose translation depends on what goes with them

    @property
    def holds(self) -> bool:
        right = not self.exact or (self.logit_gap <= TOLERANCE and not self.differences)
        return right and not self.batch_changes


@dataclass(frozen=True)
class Proof:
    model: str
    texts: int
    engines: list[EngineProof] = field(default_factory=list)
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
        together = "No translation depends" if not batches else f"{batches} translations depend"
        return f"Verified on {self.texts} texts: {'; '.join(parts)}. {together} on what is translated with it."


def verify(
    directory: Path,
    texts: Sequence[str] = (),
    source: str | None = None,
    target: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Proof:
    """Check every engine that is installed on the texts, or on a sample. `tell` hears of each before its turn."""
    reference = Translator(directory, "reference")
    tell("reference")
    chosen = list(texts) or sample_texts(reference, source, target)
    expected = [translation.text for translation in reference.translate_all(chosen, source, target)]
    unchecked = _unchecked(reference)
    proofs = []
    for label, name, compute_type in ENGINES:
        if name not in unchecked:
            tell(label)
            translator = Translator(directory, name, compute_type)
            proofs.append(_prove(label, translator, reference, chosen, expected, (source, target)))
    sides = (reference.tokenizers.source, chosen), (reference.tokenizers.target, expected)
    losses = [text for tokenizer, both in sides for text in both if _lost(tokenizer, text)]
    return Proof(str(directory), len(chosen), proofs, losses, unchecked)


def sample_texts(translator: Translator, source: str | None = None, target: str | None = None) -> list[str]:
    """Sentences in the model's languages as far as there are any here, and random tokens, which are harder."""
    ways = translator.languages.directions
    codes = [way[0] for way in ways if source in (None, "auto", way[0]) and target in (None, way[1])]
    known = [text for code in dict.fromkeys(codes) for text in SAMPLE.get(code, ())]
    rng = np.random.default_rng(1)
    tokenizer = translator.tokenizers.source
    first = END + 1 + len(tokenizer.languages)
    rows = (rng.integers(first, len(tokenizer), size=rng.integers(2, 16)) for _ in range(RANDOM_TEXTS))
    return known + [" ".join(tokenizer.decode(row.tolist()).replace("\ufffd", "").split()) for row in rows]


def _unchecked(reference: Translator) -> dict[str, str]:
    """The engines that cannot be asked here, and why."""
    reasons = {}
    if find_spec("torch") is None:
        reasons["torch"] = "it is not installed"
    if reference.config.norm == "batch":
        reasons["ctranslate2"] = "it knows no batch norm"
    return reasons


def _prove(
    label: str,
    translator: Translator,
    reference: Translator,
    texts: list[str],
    expected: list[str],
    asked: tuple[str | None, str | None],
) -> EngineProof:
    alone = [translator.translate_all([text], *asked)[0].text for text in texts]
    together = [translation.text for translation in translator.translate_all(texts, *asked)]
    backwards = [translation.text for translation in translator.translate_all(texts[::-1], *asked)][::-1]
    return EngineProof(
        engine=label,
        exact="int8" not in label,
        logit_gap=max(_gap(translator, reference, *pair, asked) for pair in zip(texts, expected, strict=True)),
        differences=[
            Difference(text, right, found)
            for text, right, found in zip(texts, expected, alone, strict=True)
            if found != right
        ],
        batch_changes=[
            text
            for text, one, two, three in zip(texts, alone, together, backwards, strict=True)
            if not one == two == three
        ],
    )


def _gap(
    translator: Translator, reference: Translator, text: str, translation: str, asked: tuple[str | None, str | None]
) -> float:
    """How far the logits are from the reference's, on the reference's own translation, relative to the largest."""
    way = reference.way(text, *asked)
    source = reference.tokenizers.encode_source(text, way[1])[-reference.most_tokens :]
    target = reference.tokenizers.encode_target(translation)[-reference.most_tokens :]
    right = reference.engine(DecodeConfig()).logits(source, target)
    found = translator.engine(DecodeConfig()).logits(source, target)
    return float(np.abs(found - right).max() / np.abs(right).max())


def _lost(tokenizer: Tokenizer, text: str) -> bool:
    return tokenizer.decode(tokenizer.encode(text)) != tokenizer.normalise(text)
