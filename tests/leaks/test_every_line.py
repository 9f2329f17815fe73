"""A record with any line left out, doubled, or exchanged with the next, however well the forger chains the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from leaks.forgeries.honest import KINDS, Honest
from leaks.owner import Count
from pcevolve.auditing.rerun import Rerun
from pcevolve.public.release import WITHHELD
from pcevolve.public.transcript.log import Entry
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Received, Record

Change = Callable[[list[Record], int], list[Record]]
CHANGES: dict[str, Change] = {
    "left out": lambda lines, at: [*lines[:at], *lines[at + 1 :]],
    "doubled": lambda lines, at: [*lines[: at + 1], *lines[at:]],
    "exchanged with the next": lambda lines, at: [
        *lines[:at],
        *reversed(lines[at : at + 2]),
        *lines[at + 2 :],
    ],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_it_does_not_pass(kind: str, change: str, honest: Honest, folder: Path, count: Count):
    run = RunReader.strict(honest.copy(kind, folder))
    lines = [entry.record for entry in run.entries]
    for at in range(1, len(lines)):
        forged = CHANGES[change](lines, at)
        if forged != lines and not _moves_what_is_missing(change, lines[at : at + 2]):
            count(f"a line {change}", is_refused(run, forged), at)
    assert not is_refused(run, lines)


def _moves_what_is_missing(change: str, lines: list[Record]) -> bool:
    """True of an exchange with an output that is missing, whose place among other lines is free (threat model)."""
    missing = (isinstance(each, Received) and WITHHELD in each.outputs for each in lines)
    return change == "exchanged with the next" and any(missing)


def is_refused(run: RunReader, lines: list[Record]) -> bool:
    """True if running a record again comes to no end, or tells something against it."""
    entries = tuple(Entry(seq, each, "") for seq, each in enumerate(lines))
    again = Rerun.of(RunReader(run.layout, entries))
    return again.evolved is None or bool(again.requests or again.receipts)
