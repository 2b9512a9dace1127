"""Imports point one way, and torch stays in the few rooms that train and run it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pellucid

ROOT = Path(pellucid.__file__).parent

# A room imports from rooms above it in this list, and from itself.
ORDER: list[set[str]] = [
    {"errors", "cores", "notebook"},
    {"fields"},
    {"config"},
    {"storage"},
    {"text"},
    {"model_directory"},
    {"reference", "nn"},
    {"decode"},
    {"evaluation"},
    {"training"},
    {"web"},
    {"tracing", "worked"},
    {"labs"},
    {"terminal"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
STANDS_ALONE = "paper"  # it imports nothing of the package, and nothing imports it

TORCH_ROOMS = ("nn", "training", "labs", "decode/engines/torch.py", "paper.py")
TORCH_AT_ONCE = ("nn", "training", "labs/networks/torch", "decode/engines/torch.py", "paper.py")  # not: when it runs
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


def needs_torch(path: Path) -> bool:
    """Whether a module cannot be imported without torch. A lab can: it imports torch when it runs."""
    return path.as_posix().startswith(TORCH_AT_ONCE)


def imported_rooms(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The rooms of the package that a module imports from, each with what it imports."""
    for name in imports(tree):
        package, _, rest = name.partition(".")
        if package == "pellucid":
            yield rest.partition(".")[0], name


def test_every_room_has_a_place_in_the_order() -> None:
    rooms = {room_of(path) for path, _ in modules()} - {"__init__", STANDS_ALONE}
    assert rooms <= set(RANK), "give the new room a place in ORDER"


def test_imports_point_up_the_order() -> None:
    wrong = [
        f"{path} imports {name}"
        for path, tree in modules()
        if room_of(path) in RANK  # not the public face, which shows every room, lazily
        for room, name in imported_rooms(tree)
        if room in RANK and room != room_of(path) and RANK[room] >= RANK[room_of(path)]
    ]
    assert not wrong


def test_the_paper_stands_alone() -> None:
    wrong = [
        f"{path} imports {name}"
        for path, tree in modules()
        for room, name in imported_rooms(tree)
        if STANDS_ALONE in (room, room_of(path))
    ]
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
        if not needs_torch(path) and path.as_posix() != "__main__.py"
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
