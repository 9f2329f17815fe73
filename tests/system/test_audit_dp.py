"""``pcevolve audit-dp`` as a user runs it: a real process, the noise of real runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.forkserver import ForkServer
from support.processes import Client


@pytest.fixture
def client(tmp_path: Path, forks: ForkServer) -> Client:
    """The command line alone: an audit of a method needs no API."""
    return Client(tmp_path, "http://127.0.0.1:9", forks)


@pytest.mark.parametrize("method", ["pcevolve", "pe", "jvem", "dp-means"])
def test_methods_survive_an_audit_with_the_noise_of_real_runs(client, method):
    done = client("audit-dp", method, "--epsilon", "2", "--runs", "500", "--confidence", "0.9999", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["noise"] == "os-csprng"
    # How much an audit sees is asserted with seeded noise; with real noise these few runs may by chance see nothing.
    assert found["epsilon_lower_bound"] <= found["epsilon_claimed"] == 2 < found["epsilon_ceiling"]
    assert "is not refuted" in done.stderr
