"""A server is started, though the process that asks for it can start nothing, and ends with it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from pcevolve.public.processes.confinement import confine_offline
from pcevolve.public.processes.serving import prepare_server, start_server, stop_server
from support.confined import confines, in_a_process


@pytest.mark.system
def test_a_guarded_server_ends_with_whoever_wanted_it_and_its_own_end_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert start_server(["sh", "-c", "echo ready; exit 3"], str(log)).wait(60) == 3
    assert log.read_text() == "ready\n"
    waiting = start_server(["sleep", "100"], str(log))
    stop_server(waiting)
    assert waiting.returncode == 256 - signal.SIGTERM


@confines
@pytest.mark.system
def test_a_confined_process_has_a_server_started_by_one_that_it_started_before(folder: Path) -> None:
    def work() -> str:
        prepare_server()
        confine_offline()
        log = folder / "own" / "log"
        process = start_server(["sh", "-c", "echo ready; sleep 100"], str(log))
        deadline = time.monotonic() + 60
        while not (log.exists() and log.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        stop_server(process)
        return log.read_text()

    assert in_a_process(work, root=True) == "ready\n"
