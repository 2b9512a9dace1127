"""Write the tables of settings in docs/ from the declarations in pellucid/config.

A table stands between `<!-- settings: NAME -->` and `<!-- end -->`, where NAME is a key of `TABLES`.

python scripts/settings_tables.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pellucid.config import (
    DataConfig,
    DecodeConfig,
    EngineConfig,
    FilterConfig,
    ModelConfig,
    ServeConfig,
    StartConfig,
    TrainConfig,
)
from pellucid.fields import Setting


def markdown_table(settings: Iterable[Setting], as_flags: bool = False) -> str:
    """The settings as a table of the documentation."""
    rows = [f"| `{each.flag if as_flags else each.name}` | {_shown(each.default)} | {each.help} |" for each in settings]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows, ""])


def _shown(default: Any) -> str:
    return "" if default is None else str(default).lower() if isinstance(default, bool) else str(default)


DOCS = Path(__file__).parents[1] / "docs"
START = StartConfig.settings()
TABLES = {
    "data": markdown_table(
        [*DataConfig.settings().values(), START["start_from"], *FilterConfig.settings().values()],
    ),
    "model": markdown_table([START["preset"], *ModelConfig.settings().values()]),
    "train": markdown_table(TrainConfig.settings().values()),
    "decode": markdown_table(DecodeConfig.settings().values()),
    "engine": markdown_table(EngineConfig.settings().values()),
    "serve": markdown_table(ServeConfig.settings().values(), as_flags=True),
}
TABLE = re.compile(r"(?<=<!-- settings: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def with_tables(text: str) -> str:
    """A document with its tables as the declarations have them."""
    return TABLE.sub(lambda match: f"{match[1]}{match[2]}\n{TABLES[match[1]]}\n", text)


if __name__ == "__main__":
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if with_tables(text) != text:
            path.write_text(with_tables(text), encoding="utf-8")
            print(f"wrote {path}")
