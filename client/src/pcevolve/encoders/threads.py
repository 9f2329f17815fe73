"""Threads each of which computes alone, so that how many there are changes no result."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import torch
from threadpoolctl import ThreadpoolController


@contextmanager
def lone_workers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads each of which computes alone: to divide each small operation among threads costs more than it saves.

    NumPy's products are not divided either, in the whole process, as long as there are such threads.
    """
    try:
        with (
            _products().limit(limits=1),
            ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool,
        ):
            yield pool
    finally:
        torch.set_num_threads(threads)  # also the number that threads started from now on begin with


@cache
def _products() -> ThreadpoolController:
    """The libraries of linear algebra that NumPy and SciPy have loaded; to look for them takes milliseconds."""
    found: ThreadpoolController = ThreadpoolController().select(user_api="blas")
    return found
