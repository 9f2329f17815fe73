"""A fork of a fork server behaves as the installed command does, and ends with those who ordered it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.forking import API_SERVER
from support.forkserver import ForkServer
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


def tell(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", CLIENTS)
def test_exit_code_and_outputs_are_those_of_the_installed_command(alone: Client, tmp_path: Path, name: str):
    environment = {**alone.environment(), "PCEVOLVE_LEDGER": "ledger.sqlite"}
    installed = subprocess.run(
        alone.find_installed(*CLIENTS[name]), cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    forked = alone.forks.run(CLIENTS[name], environment, 60, folder=tmp_path)
    assert tell(forked) == tell(installed)


@pytest.mark.parametrize("name", SERVERS)
def test_a_forked_api_server_complains_as_the_installed_one(forks: ForkServer, name: str):
    installed = subprocess.run(
        [BIN / API_SERVER.name, *SERVERS[name]], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    forked = forks.run(SERVERS[name], os.environ, 60, command=API_SERVER)
    assert tell(forked) == tell(installed)
