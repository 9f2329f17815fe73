"""The memory allocator of a process that runs networks."""

from __future__ import annotations

import ctypes
from functools import cache

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # of mallopt, as malloc.h has them
_KEPT_BLOCK, _KEPT_FREE = 32 * 2**20, 2**30
"""Bytes of the largest block that stays in the heap, and of the free memory that is kept for the next run."""


@cache
def keep_memory() -> None:
    """Let this process keep freed memory for the next run of a network.

    By default, glibc returns memory to the system after each layer and takes it again, and the system clears every
    page. This costs a tenth of a small network's time on one thread. ``malloc_trim`` still returns the memory.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc alone has it
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _KEPT_BLOCK)
        set_option(_TRIM_THRESHOLD, _KEPT_FREE)
