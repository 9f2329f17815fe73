"""Runs that are measured: a dataset, its control, and the owner's images."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import pytest

from support.folders import toned_folders
from support.paid import make_paid_run
from support.runs import small_plan

LABELS, TONES = ("cut", "good"), {"cut": 0, "good": 130}


def finish_run(root: Path, **changes: object) -> Path:
    return make_paid_run(root, small_plan(candidates=6, run_id=secrets.token_hex(16), **changes))


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A run whose dataset has the classes' tones, its control, and the owner's images."""
    folder = tmp_path_factory.mktemp("evaluated")
    toned_folders(folder / "private", TONES, 6, 0)
    toned_folders(folder / "test", TONES, 12, 1)
    for name, good in (("run", True), ("run-random", False)):
        root = finish_run(folder / name)
        made = toned_folders(folder / f"{name} made", TONES, 6, 2 if good else 3)
        for place, label in enumerate(LABELS):
            shutil.rmtree(root / "release" / label)
            kept = LABELS[place] if good else LABELS[0]  # the control has one tone throughout
            shutil.copytree(made / kept, root / "release" / label)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _quickly(few_steps: None) -> None:
    """Every judge here."""
