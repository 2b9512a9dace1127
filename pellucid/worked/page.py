"""Checked examples as one HTML file that needs nothing else: wrong numbers struck, the right ones beside them."""

from __future__ import annotations

import json

from pellucid.web.bundle import offline_page
from pellucid.worked.checker import CheckedExample
from pellucid.worked.plain import plain


def page(examples: list[CheckedExample], student: str = "") -> str:
    """`student`: whose working it is, for the title."""
    title = examples[0].example.title if len(examples) == 1 else "Worked examples, checked"
    title = f"{student}: {title}" if student else title
    data = json.dumps([plain(checked) for checked in examples])
    return offline_page(title, data, "sheet.js", "theme.css", "worked/worked.css")
