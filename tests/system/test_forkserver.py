"""A fork of a fork server behaves as the installed command does, and ends with those who ordered it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.forking import API_SERVER
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
