"""How many processors a process may use, on every system that client and server run on."""

import os


def count_cores() -> int:
    """Return how many processors this process may use; macOS cannot restrict them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
