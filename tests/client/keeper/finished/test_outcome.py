"""A finished run again, from its record alone."""

from __future__ import annotations

import json

import pytest

from pcevolve.errors import ClientError
from pcevolve.keeper.finished.outcome import recall
from pcevolve.public.transcript.reader import RunReader


@pytest.mark.parametrize(
    "changes",
    [{}, {"lookahead": 2}, {"keep": "selected", "pool": "all", "method": "dp-means", "delta": 1e-5}],
)
def test_it_made_what_its_release_lists(finished, changes):
    root = finished(**changes)
    record = RunReader.strict(root)
    evolved = recall(record)
    listed = json.loads((root / "release" / "manifest.json").read_text())["files"]
    made = {(each.id, each.digest) for of_class in evolved.dataset.values() for each in of_class}
    assert made == {(each["candidate"], each["received_sha256"]) for each in listed}
    assert evolved.receipts == record.receipts


def test_a_run_without_a_plan_made_nothing_that_could_be_recalled(finished):
    root = finished()
    log = root / "transcript" / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(ClientError):
        recall(RunReader.strict(root))
