"""Records that are honest, and a run with what a recorder saw of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from client.auditing.captured import audit_capture
from client.auditing.mutated import BEFORE, FOLLOWING, TEXTS, TOGETHER, WORDED, Honest


@pytest.fixture(
    scope="module",
    params=[BEFORE, WORDED, TOGETHER, TEXTS, FOLLOWING],
    ids=["images", "prompts", "together", "texts", "release"],
)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Honest:
    return Honest.at(tmp_path_factory.mktemp("honest") / "run", request.param)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audit_capture(tmp_path_factory.mktemp("run"))


@pytest.fixture
def copied(captured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(captured, tmp_path / "copy"))
