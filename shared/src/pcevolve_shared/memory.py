"""Memory of a process: whether what was computed with is kept for what is computed next."""

from __future__ import annotations

import ctypes
from functools import cache

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # of mallopt, as malloc.h has them
_KEPT_BLOCK, _KEPT_FREE = 32 * 2**20, 2**30
"""Bytes: the largest that glibc takes for the first, and of free memory that one run leaves to the next."""


@cache
def keep_memory() -> None:
    """Keep the memory of one run of a network for the next, in this process from now on.

    glibc would give it back after each layer and take it again, and the system clears every page: a tenth of the time
    of a small network on a thread of its own. ``malloc_trim`` gives it back all the same.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc alone has it
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _KEPT_BLOCK)
        set_option(_TRIM_THRESHOLD, _KEPT_FREE)
