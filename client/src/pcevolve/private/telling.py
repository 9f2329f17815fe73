"""Report the progress of work on private images; imports nothing that takes long to load."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

BATCH_IMAGES = 256
"""Images that are read or embedded before it is told again."""

Told: TypeAlias = Callable[[int, int], None]
"""Is called with how many images are done, and of how many; both are private."""


def nobody(done: int, total: int) -> None:
    """Tell nobody."""
