"""How many examples a property is tried on: few for a change, many at night; see ``tests/conftest.py``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings

NIGHTLY = 100
"""Examples of a property that names no number itself, at night."""
LEAST = 10


def examples(nightly: int) -> int:
    """How many to try of a property that is tried so often at night."""
    return max(LEAST, min(nightly, nightly * settings.default.max_examples // NIGHTLY))


def is_nightly() -> bool:
    """True if there is time for everything."""
    return settings.default.max_examples >= NIGHTLY


def at_night(test: Callable[..., object]) -> Callable[..., object]:
    """Leave a smoke of what people start by hand, a benchmark of minutes, to the nightly run."""
    marked: Callable[..., object] = pytest.mark.skipif(not is_nightly(), reason="minutes: at night")(test)
    return marked
