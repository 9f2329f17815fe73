"""Processes that carry out runs: one that dies costs its run alone, and none outlives the command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from pcevolve.errors import DataError, EngineError
from pcevolve_benchmarks.tables.workers import Processes
from support.jobs import work
from support.served import wait_until

pytestmark = pytest.mark.system


def test_a_process_that_dies_is_a_fault_of_its_job_and_the_others_are_done():
    jobs = ["one", "die", "refuse", "two", "three"]
    begun: list[str] = []
    found = dict(Processes(2).each_done(work, jobs, begun.append))
    assert sorted(begun) == sorted(jobs)
    assert isinstance(found["die"], EngineError)
    assert isinstance(found["refuse"], DataError)
    assert {name: found[name] for name in ("one", "two", "three")} == {"one": 3, "two": 3, "three": 5}


def test_workers_end_with_the_command_that_is_killed(tmp_path: Path):
    code = (
        "from pcevolve_benchmarks.tables.workers import Processes\nfrom support.jobs import work\n"
        f"list(Processes(2).each_done(work, ['sleep {tmp_path}', 'sleep {tmp_path}'], print))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = psutil.Popen([sys.executable, "-c", code], env=environment)
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2, 300)
    workers = command.children(recursive=True)
    assert len(workers) >= 2
    command.kill()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive
