"""Which tests start processes, which of them share fixtures that are dear, and which should be begun first."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
STARTING = ("boundary", "browser", "compose", "flood", "hostile", "system")
"""Folders whose every test starts processes."""
STARTERS = {"forks", "clients"}
"""Fixtures that do."""
TOGETHER = ("boundary", "browser", "compose", "flood", "hostile")
"""Folders whose tests share something that takes long to make; elsewhere a file is what is kept together."""
LONGEST: tuple[str, ...] = ()
"""What takes longest, the longest first: what is begun last should be short, or one worker waits for the other."""


def mark(item: pytest.Item) -> None:
    """Mark a test as one that starts processes if it does, and name what it has to be kept together with."""
    place = item.path.relative_to(TESTS)
    if place.parts[0] in STARTING or STARTERS & set(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.system)
    item.add_marker(pytest.mark.xdist_group(_group(place)))


def turn(item: pytest.Item) -> int:
    """When a test's turn is: smaller is earlier."""
    group = _group(item.path.relative_to(TESTS))
    return LONGEST.index(group) if group in LONGEST else len(LONGEST)


def _group(place: Path) -> str:
    return place.parts[0] if place.parts[0] in TOGETHER else place.as_posix()
