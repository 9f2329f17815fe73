"""The number of processors that a process may use, on every system of client and server."""

import os


def count_cores() -> int:
    """Return the number of processors that this process may use. macOS cannot restrict it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
