"""Where work that can be done again is kept, and under which name."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ENDS = 64 * 1024  # bytes read at the beginning and the end of a file


def cache_directory() -> Path:
    """$PELLUCID_CACHE, else $XDG_CACHE_HOME/pellucid, else ~/.cache/pellucid. It may not exist yet."""
    if own := os.environ.get("PELLUCID_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "pellucid"
    return Path.home() / ".cache" / "pellucid"


def fingerprint(paths: Iterable[Path], settings: Mapping[str, Any]) -> str:
    """A name for what is made of these files with these settings (anything JSON can hold): another file, another
    content, another setting, another name. Files are known by place, size, time of change and both ends: reading
    them whole would take as long as the work that is to be saved."""
    facts = {"files": [_facts(path) for path in paths], "settings": settings}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def _facts(path: Path) -> list[str | int]:
    status = path.stat()
    with path.open("rb") as file:
        ends = hashlib.sha256(file.read(ENDS))
        file.seek(max(0, status.st_size - ENDS))
        ends.update(file.read(ENDS))
    return [str(path.resolve()), status.st_size, status.st_mtime_ns, ends.hexdigest()]
