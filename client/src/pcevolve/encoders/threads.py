"""Threads each of which computes alone, so that how many there are changes no result."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch


@contextmanager
def lone_workers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads each of which computes alone: to divide each small operation among threads costs more than it saves."""
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(threads)  # also the number that threads started from now on begin with
