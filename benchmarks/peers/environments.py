"""Virtual environments of the peers: pinned, made on demand, kept in .cache/peers."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.harness import ROOT
from pellucid.errors import UserError

HERE = Path(__file__).parent
ENVIRONMENTS = ROOT / ".cache" / "peers"


def environment(name: str) -> Path:
    """The Python of the environment that NAME.txt beside this file describes, made if missing or changed.

    NAME.txt pins everything. torch comes first, with what it needs; the rest is taken as it is pinned, so that no
    peer's own requirement can replace that torch by another build.
    """
    requirements = (HERE / f"{name}.txt").read_text(encoding="utf-8")
    folder = ENVIRONMENTS / name
    python, stamp = folder / "bin" / "python", folder / "requirements.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == requirements:
        return python
    print(f"making the environment of {name} in {folder.relative_to(ROOT)}", file=sys.stderr, flush=True)
    venv.create(folder, clear=True, with_pip=True)
    [torch] = [line for line in requirements.splitlines() if line.startswith("torch==")]
    _install(python, name, torch)
    _install(python, name, "--no-deps", "--requirement", str(HERE / f"{name}.txt"))
    stamp.write_text(requirements, encoding="utf-8")
    return python


def _install(python: Path, name: str, *what: str) -> None:
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", *what], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"cannot be installed: {done.stderr.strip()[-2000:]}", f"peers/{name}.txt")
