"""Whether a run may begin in a folder, by its ledger; one that has begun is compared by ``continuity``."""

from __future__ import annotations

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger.ledger import Ledger
from pcevolve.public.figures import format_loss
from pcevolve.public.options import spell_flag
from pcevolve.public.run.folder import LOST, RunFolder
from pcevolve.public.run.owner import OwnerFolder, find_run_id


def begin_afresh(folder: RunFolder, ledger: Ledger) -> None:
    """Clear away what a false start left with its owner.

    Raises:
        LedgerError: A run in this folder has paid, and its record is gone.
        TranscriptError: A release is there, and no record of it.
    """
    _refuse_lost_record(folder, ledger)
    folder.refuse_strange_release()
    if owner := OwnerFolder.find(folder.root, ledger.path):
        owner.forget()


def _refuse_lost_record(folder: RunFolder, ledger: Ledger) -> None:
    if not folder.has_traces():
        return
    found = find_run_id(folder.root) if folder.log.exists() else ""
    for row in ledger.find_paid(folder.root):
        # Of a run with another id it is the false start, in a folder that was emptied for it.
        if found in ("", row.run_id):
            raise LedgerError(
                f"{folder.root} has lost the record of run {row.run_id[:8]}, which spent epsilon "
                f"{format_loss(row.epsilon)} by the ledger {ledger.path}: restore the newest copy of the folder; "
                f"{LOST.format(out=spell_flag('out'))}"
            )
