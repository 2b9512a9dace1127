"""What /spec says about the bodies of requests. The options of a search are read off their settings."""

from __future__ import annotations

from typing import Any, Literal

from pellucid.config import DecodeConfig

Schema = dict[str, Any]
Bodies = Literal["json", "forms"]

_STRING = {"type": "string"}
_TEXTS = {"oneOf": [_STRING, {"type": "array", "items": _STRING}]}
_KEY = {"api_key": _STRING | {"description": "needed where the server asks for keys"}}
_WAY = {
    "source": _STRING | {"description": "language code; left out: found by what the text looks like"},
    "target": _STRING | {"description": "language code; left out: the only one possible"},
}

TRANSLATE: Schema = {
    "type": "object",
    "required": ["q", "source", "target"],
    "properties": {
        "q": _TEXTS | {"description": "text to translate, or a list of texts"},
        "source": _STRING | {"description": "language code, or auto"},
        "target": _STRING | {"description": "language code"},
        "format": {"type": "string", "enum": ["text", "html"], "default": "text"},
        "alternatives": {"type": "integer", "minimum": 0, "default": 0},
        **_KEY,
    },
}
DETECT: Schema = {"type": "object", "required": ["q"], "properties": {"q": _STRING, **_KEY}}


EXPLAIN: Schema = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": _STRING | {"description": "a sentence; of several, the first is explained"},
        **_WAY,
        "target_text": _STRING | {"description": "explain this translation instead of the model's own"},
        **_KEY,
    },
}

_NUMBERS = {"type": "object", "description": "by name; numbers as texts, in the shape they have in the example"}
WORKED: Schema = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": _STRING, "inputs": _NUMBERS, "stated": _NUMBERS, **_KEY},
}


OPTIONS = {name: setting.json_schema() for name, setting in DecodeConfig.settings().items()}

SEARCH: Schema = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": _TEXTS,
        **_WAY,
        "prefix": _STRING | {"description": "what the translation must begin with"},
        "protect": {"type": "boolean", "default": False, "description": "keep placeholders and tags whole"},
        "split": {"type": "boolean", "description": "whether to split into sentences; default: if there are languages"},
        **_KEY,
        **OPTIONS,
    },
}
STREAM: Schema = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": _STRING,
        **_WAY,
        **_KEY,
        **{name: option for name, option in OPTIONS.items() if name != "n_best"},
        "strategy": OPTIONS["strategy"] | {"default": "greedy"},
    },
}


def documented(schema: Schema, bodies: Bodies) -> Schema:
    kinds = ["application/json"]
    if bodies == "forms":
        kinds += ["application/x-www-form-urlencoded", "multipart/form-data"]
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}
