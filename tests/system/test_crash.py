"""kill -9, on either side, at any time: nothing is drawn twice, nothing is lost.

The clients that are killed are forks of a process that has imported the client already: a kill ends a fork as it ends
any process, in the middle of whatever it does, and only the imports are not killed.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from support.folders import class_folders, list_released, receipts
from support.forkserver import ForkServer
from support.processes import RUN_SECONDS, Client, ServerProcess

NOISE = {"insecure_noise_seed": 3}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, server: ServerProcess, forks: ForkServer) -> Path:
    """A run that nothing interrupts; seeded noise makes it comparable."""
    root = tmp_path_factory.mktemp("reference")
    client = Client(root, server.address, forks)
    client.succeed(*client.run_options(class_folders(root / "private", seed=1), root / "run", **NOISE))
    return root / "run"


def lines(run: Path) -> int:
    log = run / "transcript" / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def wait_for_line(run: Path, number: int, process) -> None:
    deadline = time.monotonic() + 300
    while lines(run) < number and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def test_a_killed_client_with_real_noise_keeps_every_release_it_had_paid_for(client, tmp_path):
    run = tmp_path / "run"
    options = client.run_options(class_folders(tmp_path / "private", seed=1), run)
    process = client.start(*options)
    wait_for_line(run, 26, process)
    process.kill()
    process.wait()
    before = receipts(run)
    assert before
    client.succeed(*options, "--resume", run)
    assert receipts(run)[: len(before)] == before
    assert json.loads((run / "summary.json").read_text())["epsilon_spent"] == 10


@pytest.fixture(scope="module")
def mortal(tmp_path_factory, forks):
    """A server that tests may kill, and start again."""
    with ServerProcess(tmp_path_factory.mktemp("mortal") / "log", forks) as process:
        yield process


def test_a_client_waits_for_a_server_that_was_killed_and_finishes(reference, mortal, forks, tmp_path):
    client, run = Client(tmp_path, mortal.address, forks), tmp_path / "run"
    private = class_folders(tmp_path / "private", seed=1)
    process = client.start(*client.run_options(private, run, patience=240, **NOISE))
    wait_for_line(run, 20, process)
    mortal.kill()
    time.sleep(2)
    assert process.poll() is None
    mortal.start(ready=False)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert "the API is not answering" in stderr
    assert list_released(run) == list_released(reference)
    client.succeed("audit", run, "--allow-insecure")


def test_a_client_gives_up_on_a_dead_server_in_time_and_can_be_resumed(reference, mortal, forks, tmp_path):
    client, run = Client(tmp_path, mortal.address, forks), tmp_path / "run"
    private = class_folders(tmp_path / "private", seed=1)
    process = client.start(*client.run_options(private, run, patience=2, **NOISE))
    wait_for_line(run, 20, process)
    mortal.kill()
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 6
    assert "error: no usable answer from the API" in stderr
    assert "--resume" in stderr
    mortal.start()
    client.succeed(*client.run_options(private, run, patience=60, **NOISE), "--resume", run)
    assert list_released(run) == list_released(reference)


def test_a_disk_that_fills_up_is_one_clear_line_and_the_run_can_be_resumed(reference, client, tmp_path):
    run = tmp_path / "run"
    options = client.run_options(class_folders(tmp_path / "private", seed=1), run, **NOISE)
    starved = subprocess.run(
        ["sh", "-c", 'trap "" XFSZ; ulimit -f 40; exec "$@"', "sh", *client.find_installed(*options)],
        env=client.environment(),
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    assert starved.returncode in {1, 4}, starved.stderr
    assert starved.stderr.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in starved.stderr
    client.succeed(*options, "--resume", run)
    assert list_released(run) == list_released(reference)
