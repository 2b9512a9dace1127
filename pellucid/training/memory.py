"""Ask the C library to keep freed memory: a training step frees and takes the same large blocks again and again."""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's names for the two limits
KEEP_BELOW = 2**30


def keep_freed_memory() -> None:
    """Without this glibc hands every large block back to the system, and each step pays for page faults anew."""
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # musl has none
        library.mallopt(M_MMAP_THRESHOLD, KEEP_BELOW)
        library.mallopt(M_TRIM_THRESHOLD, KEEP_BELOW)
