"""How every peer that trains begins. Runs inside the environments of the peers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.peers.channel import Channel
from benchmarks.peers.gate import Gate


class Start(NamedTuple):
    folder: Path  # of the work
    about: dict[str, Any]  # the shape of the model and how it is trained
    gate: Gate


def start() -> Start:
    """Take the line before anything prints on it, read the work, and set the threads and the seed."""
    channel = Channel()
    folder = Path(sys.argv[1])
    about = json.loads((folder / "work.json").read_text(encoding="utf-8"))
    torch.set_num_threads(about["threads"])
    torch.manual_seed(1)
    return Start(folder, about, Gate(channel))
