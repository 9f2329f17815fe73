"""How many processors a process may use, on every system that client and server run on."""

import os


def count_cores() -> int:
    """Those that this process may use; macOS binds none to fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
