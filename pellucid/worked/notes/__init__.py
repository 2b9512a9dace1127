"""The study notes that the worked examples come from, accounted for: every claim, and every number that they write.

`notes.toml` is the table. `pellucid check --claims` prints the claims; `docs/notes.md` is made of it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Claim:
    id: str
    claim: str  # in our own words
    verdict: str
    labs: tuple[str, ...]  # the experiments that show it: `pellucid lab NAME`
    why: str = ""
    step: str = ""  # of a worked example that bears on it
    numbers: str = ""

    @property
    def shown_by(self) -> str:
        commands = [f"pellucid lab {lab}" for lab in self.labs]
        if self.step:
            commands.append(f"pellucid check {self.step.split()[0]}")
        return ", ".join(commands) or "pellucid describe --preset base"


@cache
def table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "notes.toml").read_text(encoding="utf-8"))


def claims() -> list[Claim]:
    return [Claim(**{**entry, "labs": tuple(entry["labs"])}) for entry in table()["claims"]]


def markdown() -> str:
    """The claims, and what is written in words in the worked examples, as two tables."""
    lines = ["| | claim | verdict | shown by |", "|---|---|---|---|"]
    for claim in claims():
        why = f" {claim.why}" if claim.why else ""
        lines.append(
            f"| {claim.id} | {claim.claim} | **{claim.verdict}**.{why} | `{'`, `'.join(claim.shown_by.split(', '))}` |"
        )
    lines += ["", "| example | what is written | verdict | step |", "|---|---|---|---|"]
    for name, example in table()["examples"].items():
        lines += [
            f"| {name} | {each['text']} | {each['verdict']} | `{each['step']}` |" for each in example.get("words", [])
        ]
    lines += ["", "| example | step | numbers written, by verdict |", "|---|---|---|"]
    for name, example in table()["examples"].items():
        for step, groups in example.get("stated", {}).items():
            written = "; ".join(f"{verdict}: {numbers}" for verdict, numbers in groups.items())
            lines.append(f"| {name} | `{step}` | {written} |")
    return "\n".join(lines) + "\n"
