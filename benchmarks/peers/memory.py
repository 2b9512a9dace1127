"""How much memory a process has held. Runs inside the environments of the peers: nothing but Python."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path


def peak_mb(process: int | None = None) -> float:
    """The most that this process, or another one, ever held, in MB of 2^20 bytes.

    As Linux counts it (VmHWM): ru_maxrss would begin with what the parent held when it started the process.
    """
    status = Path(f"/proc/{process or 'self'}/status")
    if process is None and not status.exists():
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return int(found[1]) / 2**10
