"""Imports point one way, and torch stays in the few rooms that train and run it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pellucid

ROOT = Path(pellucid.__file__).parent

# A room imports from rooms on lower floors, and from itself.
FLOORS: list[set[str]] = [
    {"errors", "cores"},
    {"fields"},
    {"config"},
    {"shapes"},
    {"model_files"},
    {"text", "nn", "reference", "metrics"},
    {"decode"},
    {"training"},
    {"web"},
    {"tracing", "worked", "labs", "interop", "describe"},
    {"terminal", "serve"},
    {"cli"},
    {"__main__", "paper"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

TORCH_ROOMS = ("nn", "training", "labs", "decode/engines/torch.py", "paper.py")
TRAINING_VERB = "cli/plan.py"  # the part of `train` that it imports only when it trains
EXTRAS = ("torch", "matplotlib")  # what the light package does not install


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """Every module of the package, its path below the package."""
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module) -> Iterator[str]:
    """Every module or name imported anywhere in a module, in functions too, written in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def may_hold_torch(path: Path) -> bool:
    return path.as_posix().startswith(TORCH_ROOMS)


def test_every_room_stands_on_a_floor() -> None:
    rooms = {room_of(path) for path, _ in modules()} - {"__init__"}
    assert rooms <= set(FLOOR), "say above on which floor the new room stands"


def test_imports_point_down() -> None:
    wrong = []
    for path, tree in modules():
        room = room_of(path)
        if room == "__init__":
            continue  # the public face shows every room, lazily
        for name in imports(tree):
            package, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            if package == "pellucid" and other in FLOOR and other != room and FLOOR[other] >= FLOOR[room]:
                wrong.append(f"{path} imports {name}")
    assert not wrong


def test_torch_is_imported_in_its_rooms_alone() -> None:
    wrong = [
        f"{path} imports {name}"
        for path, tree in modules()
        for name in imports(tree)
        if f"{name}.".startswith(("torch.", "safetensors.torch.")) and not may_hold_torch(path)
    ]
    assert not wrong


def test_everything_else_imports_where_the_extras_are_not_installed() -> None:
    light = [
        ".".join(("pellucid", *path.with_suffix("").parts)).removesuffix(".__init__")
        for path, _ in modules()
        if not may_hold_torch(path) and path.as_posix() not in (TRAINING_VERB, "__main__.py")
    ]
    program = f"""
import importlib, sys
for name in {EXTRAS!r}:
    sys.modules[name] = None  # importing it now fails as if it were not installed
for name in {light!r}:
    importlib.import_module(name)
"""
    run([sys.executable, "-c", program])


def test_importing_the_package_loads_little() -> None:
    loaded = run([sys.executable, "-c", "import sys, pellucid; print(*sys.modules)"]).split()
    assert not {"torch", "numpy", "ctranslate2", "tokenizers", "matplotlib", "starlette"} & set(loaded)


def test_help_loads_no_torch() -> None:
    program = "import sys\nfrom pellucid.cli import main\ntry:\n    main()\nfinally:\n    print(*sys.modules)"
    output = run([sys.executable, "-c", program, "--help"])
    assert "translate" in output
    assert not {"torch", "matplotlib", "transformers"} & set(output.split())


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
