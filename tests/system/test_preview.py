"""Looking at the provider's first images before anything is spent, and going on from there."""

from __future__ import annotations

import json
from pathlib import Path

from pcevolve.transcript import RunReader
from support.folders import class_folders
from support.forkserver import ForkServer
from support.processes import Client, ServerProcess


def test_a_preview_spends_nothing_and_the_run_goes_on_from_it(
    tmp_path: Path, server: ServerProcess, forks: ForkServer
):
    client = Client(tmp_path, server.address, forks)
    out = tmp_path / "run"
    _, *options = client.run_options(class_folders(tmp_path / "private", seed=1), out, candidates=12)
    shown = client("preview", *options)
    assert shown.returncode == 0, shown.stderr
    assert Path(shown.stdout.strip()) == out / "preview.html"
    before = RunReader.strict(out)
    assert (before.receipts, len(before.outputs)) == ((), 2 * 4)
    ledger = out.with_suffix(".ledger")
    assert [
        row["draws"] for row in json.loads(client("budget", "show", "--ledger", ledger, "--json").stdout)
    ] == [0]

    done = client("run", "--resume", out)
    assert done.returncode == 0, done.stderr
    after = RunReader.strict(out)
    assert after.entries[: len(before.entries)] == before.entries
    assert len({each.record.slot for each in after.entries if each.record.kind == "sent"}) == after.requests
    audited = client("audit", out)
    assert audited.returncode == 0, audited.stdout
