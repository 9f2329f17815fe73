"""A whole run between real processes, and what a user does with its result."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from pcevolve.public.run.owner import OwnerFolder
from support.folders import class_folders
from support.forkserver import ForkServer
from support.processes import Client, ServerProcess, ledger_of

REPORTED = {
    "method", "epsilon_budget", "epsilon_spent", "epsilon_drawn", "delta", "relation", "iterations", "classes",
    "images_released", "requests", "bytes_sent", "bytes_received", "marks", "unit",
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, server: ServerProcess, forks: ForkServer) -> Path:
    root = tmp_path_factory.mktemp("whole")
    client = Client(root, server.address, forks)
    private = class_folders(root / "private", seed=1)
    test = class_folders(root / "test", seed=2)
    done = client.as_installed(*client.run_options(private, root / "run", test=test), "--json")
    assert done.returncode == 0, done.stderr
    (root / "printed.json").write_text(done.stdout)
    return root / "run"


def test_the_summary_says_what_was_done_and_spent(run: Path):
    summary = json.loads((run / "summary.json").read_text())
    assert set(summary) == REPORTED
    assert summary["epsilon_spent"] == summary["epsilon_budget"] == 10
    assert (summary["images_released"], summary["classes"], summary["iterations"]) == (8, 2, 3)
    assert summary["requests"] == 1 + 4 * 2 * 2


def test_accuracy_on_the_owners_test_data_is_printed_and_kept_private(run: Path):
    printed = json.loads((run.parent / "printed.json").read_text())
    assert [(row["judge"], row["voted"]) for row in printed["accuracy"]] == [
        ("cnn", False),
        ("bundled", True),
    ]
    assert all(len(row["final"]["seeds"]) >= 3 for row in printed["accuracy"])
    assert "accuracy" not in json.loads((run / "summary.json").read_text())
    owner = OwnerFolder.of(run, ledger_of(run))
    assert owner.root.parent == ledger_of(run).parent / "runs"
    assert "accuracy" in json.loads(owner.evaluation.read_text())
    assert json.loads(owner.result.read_text()) == printed
    assert printed["use_page"] == str(owner.use_page)
    assert stat.S_IMODE(owner.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(owner.evaluation.stat().st_mode) == 0o600
