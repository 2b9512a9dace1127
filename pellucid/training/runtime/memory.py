"""Ask the C library to keep freed memory: every training step frees and allocates the same large blocks."""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's names for the two limits
KEEP_BELOW = 2**30  # bytes


def keep_freed_memory() -> None:
    """Without this glibc returns every large block to the system, and each step pays for the page faults again."""
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # musl has none
        library.mallopt(M_MMAP_THRESHOLD, KEEP_BELOW)
        library.mallopt(M_TRIM_THRESHOLD, KEEP_BELOW)
