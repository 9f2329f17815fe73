"""An owner's copy of the coordinator's record; every line is checked before the owner answers.

Each of the owner's answers in the copy must be in the owner's ledger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import islice

from safetensors import SafetensorError

from pcevolve.errors import ProtocolError, TranscriptError
from pcevolve.keeper.ledger.ledger import Ledger
from pcevolve.public.clinics.answers import Exchange, decode_exchanges, note_received
from pcevolve.public.clinics.summing import Summing
from pcevolve.public.loop.lineage import Lineage
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.chain import GENESIS, StoredFiles
from pcevolve.public.transcript.log import Entry, read
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Planned, Received, RecordedRelease


def find_plan(folder: RunFolder) -> PublicPlan:
    """Return the plan on record (``ProtocolError`` if there is none, or it is not for several owners)."""
    plan = next(
        (each.record.plan for each in read(folder.transcript) if isinstance(each.record, Planned)), None
    )
    if plan is None or plan.clinics is None:
        raise ProtocolError("the coordinator's record has no plan for several owners; no noise was drawn")
    return plan


class CopiedRecord:
    """Reads a coordinator's record line by line, and builds the same pools of candidates as the coordinator.

    Attributes:
        head: Digest of the last line that was read.
    """

    def __init__(
        self, folder: RunFolder, lineage: Lineage, summing: Summing, owns: Callable[[Exchange], bool]
    ) -> None:
        """Start before the record's first line.

        Args:
            owns: Whether an exchange contains this owner's own answer to its question.
        """
        self.head = GENESIS
        self._folder, self._lineage, self._summing, self._owns = folder, lineage, summing, owns
        self._bodies = StoredFiles(folder.bodies)
        self._seen = 0

    def catch_up(self) -> None:
        """Read and check new lines.

        Raises:
            ProtocolError: A release does not follow from the answers of all owners, or contains an answer
                in this owner's name that the owner did not give.
            TranscriptError: The record is damaged.
        """
        for entry in islice(read(self._folder.transcript), self._seen, None):
            self._take(entry)
            self._seen, self.head = self._seen + 1, entry.digest

    def _take(self, entry: Entry) -> None:
        if isinstance(entry.record, Received):
            self._note(entry.record)
        elif isinstance(entry.record, RecordedRelease):
            self._check(entry.record)

    def _note(self, received: Received) -> None:
        """Assign ids to a call's outputs, and embed the outputs if a release will compare them."""
        call, made = note_received(self._lineage, received)
        self._summing.chooser.receive(call, made)

    def _check(self, released: RecordedRelease) -> None:
        receipt, lineage = released.receipt, self._lineage
        if receipt.iteration != lineage.find_next() or lineage.list_missing(lineage.find_due()):
            raise ProtocolError(
                "the coordinator's record contains a release that is not the next one in the plan"
            )
        exchanges = () if released.answers is None else decode_exchanges(self._bodies.file(released.answers))
        if not all(map(self._owns, exchanges)):
            raise ProtocolError(
                "the coordinator's record contains an answer of yours that is not in your ledger"
            )
        measured = self._bodies.file(receipt.measured) if receipt.measured else b""
        pool = lineage.pool(receipt.iteration)
        try:
            fault = self._summing.find_fault(receipt, measured, pool, self.head, exchanges)
        # The coordinator sent these bytes, so they may have any form.
        except (SafetensorError, ValueError, KeyError, TypeError):
            fault = "what was measured cannot be read"
        if fault:
            raise ProtocolError(f"release {receipt.iteration} in the coordinator's record is wrong: {fault}")
        self._summing.note(receipt, measured)
        lineage.receipts.append(receipt)


def find_disagreement(run: RunReader, ledger: Ledger) -> str | None:
    """Describe the owner's answers in the copy that the owner's ledger lacks; None if there are none.

    The ledger may hold further answers that the coordinator has not recorded yet.
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
