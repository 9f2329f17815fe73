"""A server is started, though the process that asks for it can start nothing, and ends with it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from pcevolve.public.processes.confinement import confine_offline
from pcevolve.public.processes.serving import (
    open_in_browser,
    prepare_browser,
    prepare_server,
    start_server,
    stop_server,
)
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


@confines
def test_a_confined_process_has_a_page_opened_by_one_that_it_started_before(folder: Path) -> None:
    script = folder / "browser"
    script.write_text(
        f'#!/bin/sh\necho "$1" > {folder}/own/opened.new && mv {folder}/own/opened.new {folder}/own/opened\n'
    )
    script.chmod(0o755)

    def work() -> str:
        os.environ["BROWSER"] = f"{script} %s"
        prepare_browser()
        confine_offline()
        open_in_browser("file:///run/live.html")
        for _ in range(600):
            if (folder / "own" / "opened").exists():
                return (folder / "own" / "opened").read_text()
            time.sleep(0.05)
        return "nothing was opened"

    assert in_a_process(work, root=True) == "file:///run/live.html\n"
