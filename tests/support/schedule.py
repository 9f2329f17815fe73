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
    "benchmarks/cli/test_table.py",
    "system/test_methods.py",
    "api_server/test_cli.py",
    "system/test_texts.py",
    "boundary/test_boundary.py",
    "api_server/diffusion/test_batch_invariant.py",
    "client/keeper/finished/test_evaluating.py",
    "membership/test_timing.py",
    "leaks/test_gate.py",
    "system/test_crash.py",
    "system/test_demo.py",
    "client/keeper/ledger/test_ledger_faults.py",
    "membership/test_membership.py",
    "client/auditing/dp_audit/test_audit.py",
    "leaks/test_forgeries.py",
    "system/test_benchmarks.py",
    "system/test_apart.py",
    "system/test_private_evolution.py",
    "api_server/language/test_model.py",
    "system/test_run.py",
    "hostile/test_wire.py",
    "membership/test_benchmark.py",
    "client/keeper/evaluation/test_judge.py",
    "system/test_library.py",
    "api_server/test_models.py",
    "client/public/pages/report/test_page.py",
    "hostile/test_answers.py",
    "browser/test_dashboard.py",
    "api_server/engines/test_processes.py",
    "system/test_chat.py",
    "hostile/test_texts.py",
    "system/test_destinations.py",
    "api_server/test_bundled_model.py",
    "system/test_examples.py",
    "system/test_without_api.py",
    "hostile/test_pictures.py",
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
