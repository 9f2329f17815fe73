"""Check that a run's folder and its ledger agree, before a resumed run sends anything.

They disagree if one of them was restored from a backup, if one of two copies of a folder was used, or if a
file was lost. They agree if the run was killed between a payment and its record. The ledger then has one
more release than the record, drawn among exactly the recorded candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger.ledger import Ledger, Payment
from pcevolve.public.config.options import spell_flag
from pcevolve.public.run.folder import LOST, RunFolder
from pcevolve.public.transcript.layout import TRANSCRIPT
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import RecordedRelease


def require_agreement(folder: RunFolder, ledger: Ledger) -> RunReader:
    """Return the record of a run that has begun (``LedgerError`` if ledger and folder disagree)."""
    run = RunReader.strict(folder.root)
    if (fault := find_disagreement(run, ledger)) is not None:
        raise LedgerError(fault)
    return run


def find_disagreement(run: RunReader, ledger: Ledger) -> str | None:
    """Describe which of folder and ledger is older, what to restore, and what remains possible; None if they agree."""
    if not ledger.knows(run.opened.run_id):
        return (
            f"the ledger {ledger.path} does not contain the run in {run.layout.root}: restore the ledger "
            "that the run began with"
        )
    if run.plan is not None and run.plan.clinics is not None:
        from pcevolve.keeper.clinics.record import (
            find_disagreement as find_among_owners,  # needed only with several owners
        )

        return find_among_owners(run, ledger)
    paid, recorded = ledger.payments(run.opened.run_id), list(_list_recorded(run))
    agreed = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(paid, recorded, strict=False))))
    folder, more = run.layout.root, paid[agreed:]
    if agreed == len(recorded):
        if [each.record for each in more] in ([], [run.head]):
            return None
        return (
            f"{folder} is older than its ledger {ledger.path}, which paid for {_count(paid)} of this run, and the "
            f"record in the folder has {_count(recorded)}: restore the newest copy of the folder and resume that; "
            f"{LOST.format(out=spell_flag('out'))}"
        )
    if not more:
        return (
            f"the ledger {ledger.path} is older than {folder}, whose record has {_count(recorded)}, and the "
            f"ledger paid for {len(paid)} of them: restore the newest copy of the ledger and its key; with this one "
            "what was spent would be forgotten, so nothing can be begun with it, and the folder can only be audited"
        )
    return (
        f"{folder} and its ledger {ledger.path} went on without each other: they agree on {_count(paid[:agreed])} of "
        f"this run, and the record has {len(recorded)} and the ledger {len(paid)}: restore a folder and a ledger that "
        f"belong together; {LOST.format(out=spell_flag('out'))}"
    )


def find_fault(run: RunReader, ledger: Ledger) -> str | None:
    """Return why a run cannot continue, or seems finished but is not; None if neither is the case.

    Stored files are checked for existence; not all are read.
    """
    missing = sorted(name for name in run.files if not (run.layout.transcript / name).is_file())
    lost = f"{TRANSCRIPT}/{missing[0]} is missing: restore it" if missing else None
    return find_disagreement(run, ledger) or run.find_release_fault() or lost


def _count(releases: Sequence[Payment]) -> str:
    return "one release" if len(releases) == 1 else f"{len(releases)} releases"


def _list_recorded(run: RunReader) -> Iterator[Payment]:
    """Yield the releases on record, each with the digest of the line before it."""
    for before, each in pairwise(run.entries):
        if isinstance(each.record, RecordedRelease):
            yield Payment(each.record.receipt, before.digest)
