"""One self-contained HTML file made of the front end's modules and styles: it loads nothing and needs no server.

A module and all that it imports become one script: dependencies first, without `import` lines and without the word
`export`. They then share one scope, so no two may declare the same name at the top level; a test checks that.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

STATIC = Path(__file__).parent / "static"
TEMPLATE = Path(__file__).parent / "offline.html"
IMPORT = re.compile(r'^import \{[^}]*\} from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=async |class |const |function)", re.MULTILINE)
# In a script element, "</script" or "<!--" in somebody's text would end or hide it. JSON can spell them otherwise.
JSON_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def offline_page(title: str, data: str, entry: str, *styles: str) -> str:
    """A page drawn by the module `entry`, which finds `data`, a JSON text, in the element with the id "data"."""
    style = "".join(map(read, styles))
    script = script_of(entry)
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    pieces = {
        "policy": escape(f"{policy}; base-uri 'none'; form-action 'none'"),
        "title": escape(title),
        "style": style,
        "script": script,
        "data": re.sub("[<>&]", lambda character: JSON_ESCAPES[character[0]], data),
    }
    # In one pass, so that a text that looks like a placeholder stays what it is.
    return re.sub(r"\{\{(\w+)\}\}", lambda name: pieces[name[1]], TEMPLATE.read_text(encoding="utf-8"))


def script_of(entry: str) -> str:
    """A module and all that it imports as one script."""
    return "\n".join(EXPORT.sub("", IMPORT.sub("", read(name))) for name in dependencies(entry))


def dependencies(entry: str) -> list[str]:
    """The modules that `entry` imports, each after its own dependencies, and `entry` itself as the last."""
    return list(dict.fromkeys(_with_imports(entry)))


def _with_imports(name: str) -> Iterator[str]:
    for imported in IMPORT.findall(read(name)):
        yield from _with_imports(posixpath.normpath(posixpath.join(posixpath.dirname(name), imported)))
    yield name


def read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
