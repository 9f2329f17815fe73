"""The audit: a list of claims, each checked on its own, each with what is wrong if it is."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from pcevolve import methods
from pcevolve.audit.grammar import grammar_faults
from pcevolve.audit.pages import page_faults
from pcevolve.audit.populations import Populations
from pcevolve.audit.released import MOST_ROUNDED, Released
from pcevolve.audit.replay import Replay
from pcevolve.audit.selection import LoadEncoder, Selections, encoder_of
from pcevolve.dp.accountants import within
from pcevolve.errors import ClientError
from pcevolve.modality.images.appearance import AS_IS, MATCHED, is_released
from pcevolve.providers import dialect
from pcevolve.public.finding import Finding
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Chosen, Receipt
from pcevolve.publish.dataset import MANIFEST
from pcevolve.transcript.bodies import cut
from pcevolve.transcript.evidence import Evidence
from pcevolve.transcript.log import BODIES, LOG
from pcevolve.transcript.records import Answered, Sent
from pcevolve.transcript.tree import kind_of, odd_entries, tree_faults

Check: TypeAlias = Callable[[Evidence], Iterable[str]]
"""A generator: nothing is looked at before its faults are collected."""


def audit(root: Path, load: LoadEncoder = encoder_of) -> list[Finding]:
    """Check a run; every fault is told, none stops the rest unless nothing can be read.

    Args:
        root: The run's folder.
        load: Finds the encoder that a plan names.
    """
    odd = [fault for name in ("transcript", "release") for fault in odd_entries(root, name)]
    if odd:
        return [Finding("there are plain files and folders, and nothing else", tuple(odd), len(odd))]
    try:
        evidence = Evidence.of(root)
    except ClientError as error:
        return [Finding("the chain of records is unbroken", (str(error),), 0)]
    released = None if evidence.plan is None else Released(evidence, evidence.plan)
    findings = [Finding("the chain of records is unbroken", (), len(evidence.entries))]
    findings += [
        Finding(claim, _collected(check(evidence)), count) for claim, check, count in _claims(evidence)
    ]
    if (asked := sum(1 for each in evidence.receipts if each.measured)) > 0:
        chosen = Selections(evidence, load)
        faults = _collected(chosen.faults())
        room = f" (but for this machine's rounding: room for {chosen.room} bits)" if chosen.room else ""
        findings.append(
            Finding(f"every choice follows from what was measured and paid for{room}", faults, asked)
        )
    return findings if released is None or not evidence.finished else findings + _rebuilt(released)


def _claims(evidence: Evidence) -> list[tuple[str, Check, int]]:
    return [
        ("the run is finished, and its lines follow each other as a run's do", _order, len(evidence.entries)),
        (
            "every recorded body is complete and unchanged, and nothing else is stored",
            _bodies,
            evidence.bodies_on_record,
        ),
        (
            "every request is what the public plan and its receipt give, byte for byte",
            _requests,
            evidence.requests,
        ),
        ("the receipts pay for every release, once, at the planned price", _receipts, len(evidence.receipts)),
    ]


def _rebuilt(released: Released) -> list[Finding]:
    """What may be shared beside the transcript: made again from it, and compared."""
    evidence, plan = released.evidence, released.plan
    faults = _collected(released.faults())
    slack = (
        f" (but for {MOST_ROUNDED} value that rounding may have moved by one level: room for {released.capacity} bits)"
        if released.capacity
        else ""
    )
    pages = _collected(page_faults(evidence, plan, len(released.files)))
    return [
        Finding(f"the release is what the record gives, byte for byte{slack}", faults, len(released.files)),
        Finding("so are summary and report, and nothing else lies beside them", pages, 1),
    ]


def _collected(found: Iterable[str]) -> tuple[str, ...]:
    """All faults of a check, and what stopped it if something did."""
    faults: list[str] = []
    try:
        faults.extend(found)
    except ClientError as error:
        faults.append(str(error))
    except OSError as error:
        faults.append(f"{error.filename} cannot be read: {error.strerror}")
    except (
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # what a forger wrote into a record
        faults.append(f"the record cannot be made sense of ({type(error).__name__})")
    return tuple(faults)


def _order(evidence: Evidence) -> Iterator[str]:
    yield from grammar_faults(evidence.entries, evidence.plan)
    if not evidence.finished or not (evidence.release / MANIFEST).is_file():
        end = "the end of its record is not anchored, so lines may be missing in transcript/log.jsonl"
        yield f"the run is unfinished: {end}"


def _bodies(evidence: Evidence) -> Iterator[str]:
    for entry in evidence.entries:
        if isinstance(entry.record, Sent | Answered):
            kind = "request" if isinstance(entry.record, Sent) else "answer"
            where = f"{kind} {entry.record.slot} (line {entry.seq + 1})"
            try:
                if cut(evidence.bodies.get(entry.record.body)).text != entry.record.body.text:
                    yield f"{where}: its body is written down in another way than this version's"
            except ClientError as error:
                yield f"{where}: {error}"
    yield from _stored(evidence)
    yield from tree_faults(evidence.root, "transcript", evidence.files, "belongs to no record")


def _stored(evidence: Evidence) -> Iterator[str]:
    """Stored files that are not what their names say, apart from those that bodies are made of, which were read."""
    bodies = (each.record.body for each in evidence.entries if isinstance(each.record, Sent | Answered))
    read = {f"{BODIES}/{name}" for body in bodies for name in body.files}
    for path in sorted(evidence.files - read - {LOG}):
        if kind_of(evidence.folder / path) == stat.S_IFREG:
            try:
                evidence.bodies.file(path.removeprefix(f"{BODIES}/"))
            except ClientError as error:
                yield f"transcript/{path}: {error}"


def _requests(evidence: Evidence) -> Iterator[str]:
    if evidence.plan is None:
        yield "no plan is on record, so no request had a reason to leave"
        return
    opened, plan = evidence.opened, evidence.plan
    if (opened.run_id, opened.api, opened.dialect) != (plan.run_id, plan.api, plan.dialect):
        yield "the plan is for another run, address or dialect than the record was opened for"
    yield from Replay(evidence, plan, dialect(plan.dialect)).faults()


def _receipts(evidence: Evidence) -> Iterator[str]:
    plan = evidence.plan
    if plan is None:
        return
    yield from _prices(evidence, plan)
    events = [event for receipt in evidence.receipts for event in receipt.events]
    if not within(events, plan.budget):
        yield f"the receipts add up to more than the budget of {float(plan.budget.epsilon):g}"


def _prices(evidence: Evidence, plan: PublicPlan) -> Iterator[str]:
    expected = methods.method(plan.method).planned(plan)
    seen: set[int] = set()
    for receipt in evidence.receipts:
        where = f"receipt for iteration {receipt.iteration}"
        if (receipt.run_id, receipt.relation) != (plan.run_id, plan.relation):
            yield f"{where}: for another run or relation"
        if receipt.events != expected.get(receipt.iteration):
            yield f"{where}: not the planned price or mechanism"
        wanted = plan.wanted(receipt.iteration)
        due = [(label, wanted) for label in plan.labels if wanted]
        if [(each.label, len(each.chosen)) for each in receipt.choices] != due:
            yield f"{where}: names other classes or numbers of prototypes than the plan"
        yield from (f"{where}: {fault}" for fault in _strangers(evidence, plan, receipt))
        if receipt.iteration and str(receipt.values) not in map(str, _settled(plan)):  # -0.0 equals 0.0
            yield f"{where}: says something about the appearance that the plan does not leave open"
        if not receipt.iteration and not is_released(receipt.values):
            yield f"{where}: its numbers are none that a release of the appearance gives"
        paid = bool(receipt.iteration) and not all(event.free for event in receipt.events)
        if paid != bool(receipt.measured):
            said = "does not say what was measured" if paid else "names a measurement that nobody paid for"
            yield f"{where}: {said}"
        if receipt.iteration in seen:
            yield f"{where}: drawn twice"
        seen.add(receipt.iteration)
    if evidence.finished and seen != set(expected):
        yield f"{len(seen)} rounds have receipts where the plan has {len(expected)}"


def _strangers(evidence: Evidence, plan: PublicPlan, receipt: Receipt) -> Iterator[str]:
    """Names of no candidate that a receipt chose from; for a method that measures nothing there is no other check."""
    pool = Populations(plan, evidence.outputs).pool(receipt.iteration).candidates
    for choice in receipt.choices:
        known = {Chosen(each.id, each.digest) for each in pool.get(choice.label, ())}
        if not known.issuperset(choice.chosen):
            yield f"names an image that is not among those it chose from, for {choice.label!a}"


def _settled(plan: PublicPlan) -> tuple[tuple[float, ...], ...]:
    """What a receipt for prototypes may say about the appearance."""
    return (AS_IS, MATCHED) if plan.appearance == "auto" else ((),)
