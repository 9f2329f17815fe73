"""Which tests start processes, which draw many numbers, and which files should be begun first; for tests only."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
STARTING = ("boundary", "browser", "compose", "flood", "hostile", "system")
"""Folders whose every test starts processes."""
STARTERS = {"forks"}
"""Fixtures that do."""
LONGEST = (
    "boundary/test_boundary.py",
    "client/dp_audit/test_audit.py",
    "system/test_crash.py",
    "system/test_methods.py",
    "membership/test_membership.py",
    "membership/test_timing.py",
    "hostile/test_wire.py",
    "leaks/test_forgeries.py",
    "system/test_run.py",
    "leaks/test_gate.py",
    "flood/test_connections.py",
    "browser/test_viewer.py",
    "system/test_benchmarks.py",
    "hostile/test_pictures.py",
    "hostile/test_answers.py",
    "client/ledger/test_ledger_faults.py",
    "client/selectors/test_privacy.py",
)
"""Files that take longest, the longest first: one worker gets a whole file, and what is begun last should be short."""


def mark(item: pytest.Item) -> None:
    """Mark a test that starts processes."""
    starts = item.path.relative_to(TESTS).parts[0] in STARTING
    if starts or STARTERS & set(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.system)


def turn(item: pytest.Item) -> int:
    """When a test's turn is: smaller is earlier."""
    file = item.path.relative_to(TESTS).as_posix()
    return LONGEST.index(file) if file in LONGEST else len(LONGEST)
