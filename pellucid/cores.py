"""The number of CPU cores."""

import os


def cores() -> int:
    """Cores that this process may use, where the system reports them; else all cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
