"""An audit's claim about a run of several owners: each release is the sum of their signed answers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from safetensors import SafetensorError

from pcevolve.auditing.lines import UNREADABLE, collect, describe
from pcevolve.auditing.rerun import LoadEncoder, Rerun
from pcevolve.errors import ModelError, ProtocolError
from pcevolve.public import selectors
from pcevolve.public.clinics.answers import decode_exchanges
from pcevolve.public.clinics.summing import Summing
from pcevolve.public.finding import Finding
from pcevolve.public.plan import PublicPlan
from pcevolve.public.selectors.choosing import Chooser
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import RecordedRelease

CLAIM = "every release is the sum of one answer of each owner, signed for this plan, record and question"


def check_sums(run: RunReader, again: Rerun, load: LoadEncoder) -> list[Finding]:
    """Check every release against its owners' signed answers; empty for a run of one owner."""
    plan = run.plan
    if plan is None:
        return []
    # A run that starts from such a release makes no release of its own.
    if plan.clinics is None or plan.start is not None:
        faults = [f"receipt for iteration {each.receipt.iteration}: names answers of owners that the plan has not"
                  for each in _list_released(run) if each.answers is not None]  # fmt: skip
        return [Finding(CLAIM, tuple(faults), 0)] if faults else []
    try:
        chooser = Chooser(
            plan, load(plan), run.bodies.file, selectors.find_method(plan.method.name).make_selector()
        )
    except ModelError as error:
        return [Finding(CLAIM, (), 0, f"no answer of an owner was checked: {error}")]
    answered = sum(each.answers is not None for each in _list_released(run))
    return [Finding(CLAIM, collect(_find_faults(run, again, plan, chooser)), answered)]


def _find_faults(run: RunReader, again: Rerun, plan: PublicPlan, chooser: Chooser) -> Iterator[str]:
    summing = Summing(plan, chooser)
    for before, entry in pairwise(run.entries):
        if not isinstance(entry.record, RecordedRelease):
            continue
        receipt, where = entry.record.receipt, f"receipt for iteration {entry.record.receipt.iteration}"
        pool = again.pools.get(receipt.iteration)
        if pool is None:  # the record breaks off earlier, which another finding reports
            return
        try:
            answers = entry.record.answers
            exchanges = () if answers is None else decode_exchanges(run.bodies.file(answers))
            measured = run.bodies.file(receipt.measured) if receipt.measured else b""
            fault = summing.find_fault(receipt, measured, pool, before.digest, exchanges)
        except (SafetensorError, ValueError, LookupError, TypeError):
            fault = "what was measured cannot be read"
        except (ProtocolError, *UNREADABLE) as error:
            fault = str(error) if isinstance(error, ProtocolError) else describe(error)
        # Later releases depend on this one, so they cannot be checked after a fault.
        if fault:
            yield f"{where}: {fault}"
            return
        summing.note(receipt, measured)


def _list_released(run: RunReader) -> Iterator[RecordedRelease]:
    return (each.record for each in run.entries if isinstance(each.record, RecordedRelease))
