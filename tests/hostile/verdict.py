"""Promises that hold whatever the provider did: nothing left, nothing was lost, and the owner was told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from hostile.launcher import HUNG, Ended
from hostile.provider import Heard
from pcevolve.auditing import audit
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.release import Receipt
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.layout import BODIES, LOG
from pcevolve.public.transcript.log import read
from pcevolve.public.transcript.records import RecordedRelease, Sent

KEY = "k3y-of-the-owner"
MOST_MEMORY = 2**30  # bytes above an honest run
LONGEST_LINE = 1020  # characters


def list_recorded(run: Path) -> list[bytes]:
    """Each request on record as the bytes that it is on the wire, the key put back in."""
    bodies = Bodies(run / "transcript" / BODIES)
    if not (run / "transcript" / LOG).exists():
        return []
    return [
        _on_the_wire(entry.record, bodies)
        for entry in read(run / "transcript")
        if isinstance(entry.record, Sent)
    ]


def _on_the_wire(sent: Sent, bodies: Bodies) -> bytes:
    values = {"(hidden)": f"Bearer {KEY}"}
    headers = "".join(f"{name}: {values.get(value, value)}\r\n" for name, value in sent.headers)
    line = f"{sent.method} {urlsplit(sent.url).path} HTTP/1.1\r\n"
    return f"{line}{headers}\r\n".encode() + bodies.get(sent.body)


def find_unrecorded(heard: Iterable[Heard], sent: Sequence[bytes], all_arrived: bool) -> Iterator[str]:
    """Bytes that reached the provider and are not on record, or records of what never arrived.

    Args:
        heard: By connection.
        sent: On record.
        all_arrived: Whether the provider read everything, so that records and arrivals have to be the same.
    """
    left = Counter(sent)
    for each in heard:
        rest = bytes(each.data)
        while rest:
            whole = next((one for one in left if left[one] and rest.startswith(one)), None)
            if whole is None:
                if not any(left[one] and one.startswith(rest) for one in left):
                    yield f"{len(rest)} bytes left that are not on record: {rest[:200]!r}"
                break
            left[whole] -= 1
            rest = rest[len(whole) :]
    if all_arrived and left.total():
        yield f"{left.total()} requests are on record that never left"


def strangers(ended: Ended, port: int, calls: int) -> Iterator[str]:
    """Contact with anybody but the API."""
    if calls:
        yield f"another host was called {calls} times"
    if ended.dialled is not None and ended.dialled - {f"127.0.0.1:{port}"}:
        yield f"the client dialled {sorted(ended.dialled)}"


def misbehaviour(ended: Ended, codes: Sequence[int], says: str, baseline: int) -> Iterator[str]:
    """A crash, a hang, a flood of memory, or a message that is not one clear line."""
    if ended.code == HUNG:
        yield "it did not end"
    elif ended.code not in codes:
        yield f"exit code {ended.code}, not {codes}: {ended.stderr[-600:]!r}"
    if b"Traceback" in ended.stderr:
        yield "a traceback"
    if ended.peak > baseline + MOST_MEMORY:
        yield f"{(ended.peak - baseline) >> 20} MiB above an honest run"
    for name, text in (("stdout", ended.stdout), ("stderr", ended.stderr)):
        raw = {each for each in text.decode("utf-8", "replace") if not (each.isprintable() or each == "\n")}
        if raw:
            yield f"{sorted(raw)} on {name}"
    yield from _unclear(ended, says)


def _unclear(ended: Ended, says: str) -> Iterator[str]:
    told = ended.stderr.decode("utf-8", "replace").splitlines()
    complaints = [line for line in told if line.startswith("error: ")]
    if ended.code == 0:
        if complaints:
            yield f"it succeeded and complained: {complaints}"
    elif len(complaints) != 1 or told[-1] != complaints[0] or len(complaints[0]) > LONGEST_LINE:
        yield f"the complaint is not one clear line at the end: {told[-3:]}"
    elif not re.search(says, complaints[0]):
        yield f"the complaint does not say {says!r}: {complaints[0]}"


def list_paid(ledger: Path) -> list[Receipt]:
    """Every receipt in a ledger, oldest first; none where there is no ledger yet."""
    if not ledger.exists():
        return []
    book = LedgerBook(ledger, create=False)
    try:
        runs = book.export()["runs"]
    finally:
        book.close()
    return [Receipt.from_dict(each) for run in runs for each in run["receipts"]]


def find_lost(run: Path, before: Sequence[Receipt], after: Sequence[Receipt]) -> Iterator[str]:
    """Privacy budget that was spent and brought nothing, or was spent again."""
    if list(after[: len(before)]) != list(before):
        yield "what was paid for before was drawn again"
    on_record = [
        each.record.receipt for each in read(run / "transcript") if isinstance(each.record, RecordedRelease)
    ]
    if sorted(each.id for each in on_record) != sorted(each.id for each in after):
        yield f"{len(after)} receipts were paid for, {len(on_record)} were used"


def broken(run: Path) -> list[str]:
    return [f"audit: {fault}" for finding in audit(run) for fault in finding.faults]
