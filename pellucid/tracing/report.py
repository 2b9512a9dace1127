"""A trace as one file of HTML that needs nothing else: data, style and script are inside, and nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pellucid.tracing.trace import Trace

HERE = Path(__file__).parent
# Inside a script element, "</script" or "<!--" in somebody's text would end or hide it. JSON can spell these signs.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def page(trace: Trace) -> str:
    style = _read("report.css")
    script = "\n".join(map(_read, ("heatmap.js", "search.js", "report.js")))
    pieces = {
        "policy": escape(policy(style, script)),
        "title": escape(f"{trace.text} → {trace.translation}"),
        "style": style,
        "script": script,
        "trace": re.sub("[<>&]", lambda sign: UNSAFE[sign[0]], trace.to_json()),
    }
    # In one pass, so that a text that looks like a placeholder stays what it is.
    return re.sub(r"\{\{(\w+)\}\}", lambda name: pieces[name[1]], _read("report.html"))


def policy(style: str, script: str) -> str:
    """Nothing is loaded from anywhere, and of scripts and styles these two alone are used."""
    allowed = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
