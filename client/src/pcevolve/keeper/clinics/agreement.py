"""Check that an owner's copy of a record agrees with its ledger: what is on record was paid for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from pcevolve.errors import ProtocolError, TranscriptError
from pcevolve.keeper.ledger.ledger import Ledger
from pcevolve.public.clinics.answers import Exchange, decode_exchanges
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import RecordedRelease


def find_disagreement(run: RunReader, ledger: Ledger) -> str | None:
    """Return what the copy has of an owner that its ledger lacks; None if they agree.

    The ledger may be ahead, by answers that the coordinator has not recorded yet.
    """
    paid = {each.record: each.receipt.measured for each in ledger.payments(run.opened.run_id)}
    try:
        strange = sum(not _is_paid(each, paid) for each in _list_exchanges(run))
    except (ProtocolError, TranscriptError) as error:
        return str(error)
    if not strange:
        return None
    return (
        f"{strange} of the answers in {run.layout.root} are not what the ledger {ledger.path} committed: one of "
        "the two is a backup, or the record is forged: restore the newest of both; these two cannot go on"
    )


def _is_paid(exchange: Exchange, paid: dict[str, str]) -> bool:
    found = paid.get(exchange.question.digest)
    return found in {hashlib.sha256(each.vector).hexdigest() for each in exchange.answers}


def _list_exchanges(run: RunReader) -> Iterator[Exchange]:
    for entry in run.entries:
        if isinstance(entry.record, RecordedRelease) and entry.record.answers is not None:
            yield from decode_exchanges(run.bodies.file(entry.record.answers))
