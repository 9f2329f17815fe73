"""Which tests are heavy, and which files should be begun first; for tests only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
STARTING = ("boundary", "browser", "compose", "flood", "hostile", "system")
"""Folders whose every test starts processes."""
APART = ("leaks",)
"""Folders of many attempts that have a command of their own."""
ALONE = ("flood/", "api_server/engines/")
"""Folders that ``make test`` looks through for tests that are alone."""
STARTERS = {"forks"}
"""Fixtures that do."""
LOADERS = {"tiny_model", "generator"}
"""Fixtures that load a neural network."""
HEAVY = ("system", "models", "statistical", "alone")
"""Marks of tests that ``--fast`` leaves out."""
_MARK = re.compile(r"^pytestmark = pytest\.mark\.(\w+)$", re.MULTILINE)
LONGEST = (
    "membership/test_timing.py",
    "client/keeper/ledger/test_ledger_faults.py",
    "hostile/test_wire.py",
    "system/test_demo.py",
    "hostile/test_pictures.py",
    "system/test_messages.py",
    "boundary/test_boundary.py",
    "system/test_texts.py",
    "hostile/test_texts.py",
    "hostile/test_answers.py",
    "client/keeper/finished/test_evaluating.py",
    "client/auditing/dp_audit/test_audit.py",
    "api_server/test_cli.py",
    "system/test_clinics_killed.py",
    "system/test_clinics_lies.py",
    "system/test_clinics.py",
    "system/test_attackers.py",
    "client/public/loop/test_usability_repeats.py",
    "membership/test_membership.py",
    "system/test_crash.py",
    "system/test_fuzz.py",
    "api_server/diffusion/test_batch_invariant.py",
    "leaks/test_forgeries.py",
    "client/public/selectors/test_contract.py",
    "system/test_methods.py",
    "system/test_apart.py",
    "system/test_library.py",
    "system/test_destinations.py",
    "client/auditing/test_rerun.py",
    "client/keeper/private/test_records.py",
    "api_server/test_trial.py",
    "api_server/diffusion/test_generator.py",
    "leaks/test_every_line.py",
    "leaks/test_pipe.py",
    "client/public/run/test_owner.py",
    "system/test_run.py",
    "system/test_examples.py",
    "browser/test_dashboard.py",
    "browser/test_narrow.py",
    "browser/test_viewer.py",
)
"""Files that take longest, the longest first: one worker gets a whole file, and what is begun last should be short."""


def mark(item: pytest.Item) -> None:
    """Mark a test that starts processes or loads a network, by its folder and fixtures."""
    fixtures = set(getattr(item, "fixturenames", ()))
    if item.get_closest_marker("alone"):
        assert item.path.relative_to(TESTS).as_posix().startswith(ALONE), f"nobody runs {item.nodeid}"
    if item.path.relative_to(TESTS).parts[0] in STARTING or STARTERS & fixtures:
        item.add_marker(pytest.mark.system)
    if LOADERS & fixtures:
        item.add_marker(pytest.mark.models)


def is_heavy(path: Path) -> bool:
    """True if all tests of a folder or file are heavy, so that it need not even be imported, which takes seconds."""
    folder = {*path.relative_to(TESTS).parts[:1]}
    marks = _MARK.findall(path.read_text()) if path.name.startswith("test_") else ()
    return bool(folder & {*STARTING, *APART} or {*marks} & {*HEAVY})


def turn(item: pytest.Item) -> int:
    """When a test's turn is: smaller is earlier."""
    file = item.path.relative_to(TESTS).as_posix()
    return LONGEST.index(file) if file in LONGEST else len(LONGEST)
