"""Results of labs as one HTML file that needs nothing else: the figures are drawn by the modules of the page."""

from __future__ import annotations

import json
from typing import Any

from pellucid.labs.parts.lab import Lab, Result
from pellucid.web.bundle import offline_page


def page(results: list[Result]) -> str:
    title = results[0].lab.title if len(results) == 1 else "Labs"
    data = json.dumps([{**describe(result.lab), "result": result.plain()} for result in results])
    return offline_page(title, data, "labs.js", "theme.css", "labs/labs.css")


def describe(lab: Lab) -> dict[str, Any]:
    """What a lab is, before any run: its words, and its settings as JSON schema."""
    words = ("name", "claims", "title", "question", "notes", "method", "criterion", "refuted_by", "broken", "live")
    return {
        **{word: getattr(lab, word) for word in words},
        "settings": {name: setting.json_schema() for name, setting in lab.settings.settings().items()},
        "quick": lab.quick,
        "needs_torch": lab.needs_torch,
    }
