"""Whole jobs on Ray: one whose process is killed, or that is refused, costs itself alone."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from pcevolve.errors import DataError, EngineError
from support.jobs import worked

pytestmark = [
    pytest.mark.alone,
    pytest.mark.system,
    pytest.mark.skipif(find_spec("ray") is None, reason="pcevolve[ray] is not installed"),
]


def test_jobs_on_a_cluster_are_done_refused_or_told_to_have_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    inherited = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[2]}{os.pathsep}{inherited}")
    from pcevolve.private.cluster.engine import run_jobs

    jobs = ["one", "die", "refuse", "two", "three"]
    begun: list[str] = []
    found = dict(run_jobs(worked, jobs, begun.append, 2, None, tmp_path / "cluster"))
    assert begun == jobs
    assert isinstance(found["die"], EngineError)
    assert isinstance(found["refuse"], DataError)
    assert str(found["refuse"]) == "no image"
    assert {name: found[name] for name in ("one", "two", "three")} == {"one": 3, "two": 3, "three": 5}
    assert list(tmp_path.iterdir()) == [], "the cluster's files are gone"
