"""Run the notebooks of examples/, and write what their cells show into them.

python scripts/notebooks.py            # all; or the names of some

Code is run as a notebook runs it: one namespace, a working directory of its own, and the value of a last expression is
shown. Nothing else of Jupyter is needed, so the tests run them the same way.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"
KINDS = {"_repr_html_": "text/html", "_repr_png_": "image/png"}


def notebooks() -> list[Path]:
    return sorted(EXAMPLES.glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def code_of(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of every cell with code."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with _own_directory():
        return [
            _run_cell("".join(cell["source"]), namespace, number) for number, cell in enumerate(code_of(notebook), 1)
        ]


def _run_cell(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    stream = io.StringIO()
    value = None
    with redirect_stdout(stream), redirect_stderr(io.StringIO()):
        exec(compile(tree, f"cell {number}", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
    outputs = []
    if text := stream.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        shown = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": _data(value)}
        outputs.append(shown)
    return outputs


def _data(value: object) -> dict[str, Any]:
    """What a notebook shows of a value."""
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    for method, kind in KINDS.items():
        content = getattr(value, method)() if hasattr(value, method) else None
        if content is not None:
            data[kind] = base64.b64encode(content).decode() if isinstance(content, bytes) else [content]
    return data


@contextmanager
def _own_directory() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def main(names: list[str]) -> None:
    for path in notebooks():
        if names and path.stem not in names:
            continue
        notebook = read(path)
        for number, (cell, outputs) in enumerate(zip(code_of(notebook), run(notebook), strict=True), 1):
            cell["outputs"], cell["execution_count"] = outputs, number
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
