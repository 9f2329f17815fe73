"""A fork of the fork server behaves as the installed command does: what holds for the one holds for the other."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from support.folders import class_folders
from support.forkserver import ForkServer
from support.processes import Client

COMMANDS = {
    "a plan": ["budget", "plan", "--method", "jvem", "--json"],
    "a relative path that is not there": ["run", "--private", "nowhere", "--domain", "x", "--out", "out"],
    "an option that there is not": ["run", "--nope"],
    "a ledger that the environment names": ["budget", "show"],
}


@pytest.fixture
def client(tmp_path: Path, forks: ForkServer) -> Client:
    return Client(tmp_path, "http://127.0.0.1:9", forks)


@pytest.mark.parametrize("name", COMMANDS)
def test_exit_code_and_outputs_are_those_of_the_installed_command(client: Client, tmp_path: Path, name: str):
    environment = {**client.environment(), "PCEVOLVE_LEDGER": "ledger.sqlite"}
    installed = subprocess.run(
        client.installed(*COMMANDS[name]), cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    forked = client.forks.run(COMMANDS[name], environment, 60, folder=tmp_path)
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        installed.returncode,
        installed.stdout,
        installed.stderr,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_ends_it(client: Client, tmp_path: Path, number: signal.Signals):
    private = class_folders(tmp_path / "private", seed=1)
    process = client.start(*client.run_options(private, tmp_path / "run", first_contact=60))
    assert process.poll() is None
    with pytest.raises(TimeoutError):
        process.wait(0.05)
    process.send_signal(number)
    assert process.wait(30) == -number
    assert process.poll() == -number


def test_one_fork_sees_nothing_of_another(client: Client, tmp_path: Path):
    other = {**client.environment(), "XDG_STATE_HOME": str(tmp_path / "elsewhere")}
    first = client.forks.run(["budget", "show"], other, 60)
    second = client("budget", "show")
    assert "elsewhere" in first.stdout + first.stderr
    assert "elsewhere" not in second.stdout + second.stderr
