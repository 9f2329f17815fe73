"""A fork of a fork server behaves as the installed command does, and ends with those who ordered it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.folders import class_folders
from support.forking import API_SERVER, COMMANDS
from support.forkserver import TESTS, ForkServer
from support.processes import BIN, Client

CLIENTS = {
    "a plan": ["budget", "plan", "--method", "jvem", "--json"],
    "a relative path that is not there": ["run", "--private", "nowhere", "--domain", "x", "--out", "out"],
    "an option that there is not": ["run", "--nope"],
    "a ledger that the environment names": ["budget", "show"],
}
SERVERS = {
    "its version": ["--version"],
    "an impossible port": ["serve", "--port", "99999"],
    "an address for everybody without a key": ["serve", "--host", "0.0.0.0"],
}
ORDERS = """
import sys
from support.forkserver import ForkServer
started = ForkServer(sys.argv[1]).start([], {}, first=("time:sleep", 300))
print(started.pid, flush=True)
started.wait()
"""
OWNS = """
from support.forkserver import ForkServers
print(*[each.pid for each in ForkServers()._processes], flush=True)
input()
"""
END_SECONDS = 30


@pytest.fixture
def client(tmp_path: Path, forks: ForkServer) -> Client:
    return Client(tmp_path, "http://127.0.0.1:9", forks)


@pytest.mark.parametrize("name", CLIENTS)
def test_exit_code_and_outputs_are_those_of_the_installed_command(client: Client, tmp_path: Path, name: str):
    environment = {**client.environment(), "PCEVOLVE_LEDGER": "ledger.sqlite"}
    installed = subprocess.run(
        client.installed(*CLIENTS[name]), cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    forked = client.forks.run(CLIENTS[name], environment, 60, folder=tmp_path)
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


@pytest.mark.parametrize("name", SERVERS)
def test_a_forked_api_server_complains_as_the_installed_one(forks: ForkServer, name: str):
    installed = subprocess.run(
        [BIN / API_SERVER.name, *SERVERS[name]], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    forked = forks.run(SERVERS[name], os.environ, 60, command=API_SERVER)
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        installed.returncode,
        installed.stdout,
        installed.stderr,
    )


def ordered(script: str, *arguments: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A process with a session of its own, as one that runs tests has, and the ids that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    return process, [int(each) for each in process.stdout.readline().split()]


def assert_ends(pid: int) -> None:
    deadline = time.monotonic() + END_SECONDS
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"process {pid} outlived those who started it"
        time.sleep(0.02)


def test_a_fork_ends_with_the_worker_that_ordered_it(fork_servers: str):
    worker, (pid,) = ordered(ORDERS, fork_servers)
    assert Path(f"/proc/{pid}").exists()
    worker.kill()
    worker.communicate()
    assert_ends(pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["crash", "Ctrl-C"])
def test_the_fork_servers_end_with_the_session_and_without_a_word(number: signal.Signals):
    session, pids = ordered(OWNS)
    assert len(pids) == len(COMMANDS)
    if number == signal.SIGINT:
        os.killpg(session.pid, number)  # a terminal sends it to all
    else:
        session.send_signal(number)
    _, told = session.communicate(timeout=END_SECONDS)
    assert session.returncode == -number
    assert told.count("Traceback") == (number == signal.SIGINT)
    for pid in pids:
        assert_ends(pid)
