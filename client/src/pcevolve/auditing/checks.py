"""The audit: a list of claims, each checked on its own, each with what is wrong if it is."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from pcevolve.auditing.cards import check_cards
from pcevolve.auditing.images import find_image_faults
from pcevolve.auditing.lines import UNREADABLE, describe
from pcevolve.auditing.rebuilt import MOST_ROUNDED, RebuiltRelease, check_exports
from pcevolve.auditing.rerun import Rerun
from pcevolve.auditing.selection import LoadEncoder, Selections, find_encoder
from pcevolve.errors import ClientError
from pcevolve.providers import dialect
from pcevolve.public.finding import Finding
from pcevolve.public.parts import Library
from pcevolve.public.plan import PublicPlan
from pcevolve.publish import NO_BOUNDARY
from pcevolve.transcript import RunReader
from pcevolve.transcript.bodies import cut
from pcevolve.transcript.layout import (
    AUDIT,
    BODIES,
    EXPORTS,
    KIND_NAMES,
    KINDS,
    LOG,
    RELEASE,
    REPORT,
    SUMMARY,
    TRANSCRIPT,
    find_file_faults,
    find_irregular_files,
    kind_of,
)
from pcevolve.transcript.records import GREETING_SLOT, Answered, Sent


def audit(root: Path, load: LoadEncoder = find_encoder) -> list[Finding]:
    """Check the run in a folder; every fault is told, none stops the rest unless nothing can be read."""
    return check_run(RunReader.lenient(root), load)[0]


def check_run(run: RunReader, load: LoadEncoder) -> tuple[list[Finding], RebuiltRelease | None]:
    """Check a run whose record has been read, as far as it can be; see ``audit``.

    Returns:
        The findings, and the release as the record gives it; None where the run is unfinished or cannot be read.
    """
    # Before anything is opened: a pipe in a shared folder would block the auditor for ever.
    odd = [fault for name in (TRANSCRIPT, RELEASE) for fault in find_irregular_files(run.layout.root, name)]
    if odd:
        return [Finding("there are plain files and folders, and nothing else", tuple(odd), len(odd))], None
    if run.why_not_whole is not None:
        return [Finding("the chain of records is unbroken", (run.why_not_whole,), 0)], None
    # Three readings, because an extension under way must not hide that the run and its release were whole.
    again, settled, published = Rerun.of(run), run.settled, run.published
    settled_again = again if settled is run else Rerun.of(settled)
    published_again = settled_again if published is settled else Rerun.of(published)
    findings = [Finding("the chain of records is unbroken", (), len(run.entries)), _end(run)]
    findings += _of_record(run, again)
    findings += _boundary(run)
    findings += _choices(settled, settled_again, load)
    plan, evolved = published.plan, published_again.evolved
    if plan is None or not published.finished or not _list_derived(run):
        return [*findings, _beside(run, finished=False)], None
    if evolved is None:  # nothing follows from a record that breaks off; what is wrong with it was told
        return [*findings, _beside(run, finished=True)], None
    released = RebuiltRelease(published, plan, evolved.dataset)
    return [*findings, *_rebuilt(released), _beside(run, finished=True)], released


def _boundary(run: RunReader) -> list[Finding]:
    """That there was none, where there was none: no check of a record can make up for it."""
    if run.plan is None or not run.plan.in_process:
        return []
    return [Finding("a boundary stood between the private images and the generator", (NO_BOUNDARY,), 1)]


def _choices(run: RunReader, again: Rerun, load: LoadEncoder) -> list[Finding]:
    """Check if every choice follows from what was paid for; nothing where nothing was measured."""
    measured = sum(1 for each in run.receipts if each.measured)
    if not measured and run.assessment is None:
        return []
    claim, chosen = "every choice follows from what was measured and paid for", Selections(run, again, load)
    if why := chosen.why_unchecked():
        return [
            Finding(claim, (), 0, f"none of {measured} measurements and what followed was checked: {why}")
        ]
    faults = _collect(chosen.faults())
    room = f" (but for this machine's rounding: room for {chosen.room} bits)" if chosen.room else ""
    return [Finding(f"{claim}{room}", faults, measured)]


def _of_record(run: RunReader, again: Rerun) -> list[Finding]:
    """Return what is claimed about any record, each claim with the number of things that it is about."""
    planless = run.plan is None and not run.finished
    return [
        Finding(
            "every recorded body is complete and unchanged, and nothing else is stored",
            _collect(_bodies(run)),
            run.bodies_on_record,
        ),
        Finding(
            "run again over the recorded answers, the plan sends every request as it is on record, in this order",
            (*_collect(_terms(run)), *again.requests),
            run.requests,
            pending="no plan is on record yet, and so no prompt was sent" if planless else "",
        ),
        Finding(
            "every image that left had come from the API, and the plan or a receipt named it; nothing else was free",
            _collect(find_image_faults(run)),
            run.requests,
        ),
        Finding(
            "the receipts pay for every release, once, at the planned price",
            tuple(again.receipts),
            len(run.receipts),
        ),
        Finding(
            "no release chose where too few candidates could be used, as the plan counts them",
            tuple(again.unusable),
            len(run.receipts),
        ),
    ]


def _end(run: RunReader) -> Finding:
    """Check if the run came to its end, which anchors that of its record; a run under way has released nothing.

    A closed record without a release may have been cut off there, or somebody may have removed the release: then
    nothing that was made of it may be left, and in either case the run is not called finished.
    """
    claim, made = "the run is finished", _list_derived(run)
    there = run.settled.finished and run.layout.manifest.is_file()
    if there and run.finished and run.published is run.settled:
        return Finding(claim, (), 1)
    end = "the end of its record is not anchored, so lines may be missing in transcript/log.jsonl"
    why = f"the run is unfinished: {end}"
    if made and not there:
        return Finding(claim, (f"{why}, and yet there is {', '.join(made)}",), 0)
    if run.plan is not None and run.plan.extended:
        why = "an extension is under way"
    return Finding(claim, (), 0, pending=f"{why}; {run.goes_on} goes on")


def _list_derived(run: RunReader) -> list[str]:
    """List what lies in the folder and is made of a closed record; links are not followed."""
    names = (RELEASE, SUMMARY, REPORT, *EXPORTS.values())
    return [name for name in names if kind_of(run.layout.root / name) is not None]


def _rebuilt(released: RebuiltRelease) -> list[Finding]:
    """Make what may be shared beside the transcript again from it; compare the data and judge the cards."""
    faults = _collect(released.faults())
    slack = (
        f" (but for {MOST_ROUNDED} value that rounding may have moved by one level: room for {released.capacity} bits)"
        if released.capacity
        else ""
    )
    claim = f"the release is what the record gives, byte for byte{slack}"
    made = Finding(claim, faults, len(released.files))
    try:
        return [made, *check_exports(released), check_cards(released)]
    except (ClientError, ArithmeticError, LookupError, TypeError, ValueError):
        # Nothing follows from such a record, which the faults of the release tell.
        return [made]


def _beside(run: RunReader, finished: bool) -> Finding:
    """Check if what lies in the run's folder belongs there; what it says is not looked into.

    A run under way may leave what a crash cut off, so only names that a run has are looked at in its folder.
    """
    faults = []
    there = sorted(run.layout.root.iterdir())
    for path in there:
        kind = kind_of(path)
        if path.name not in KINDS:
            faults += [f"{path.name!a} belongs to no run"] if finished else []
        elif kind != KINDS[path.name]:
            faults.append(f"{path.name} is {KIND_NAMES.get(kind or 0, 'no plain file')}")
    count = sum(path.name != AUDIT for path in there)  # the same before and after an audit wrote its pages
    return Finding("nothing else lies in the run's folder", tuple(faults), count)


def _collect(found: Iterable[str]) -> tuple[str, ...]:
    """All faults of a check, and what stopped it if something did."""
    faults: list[str] = []
    try:
        faults.extend(found)
    except UNREADABLE as error:
        faults.append(describe(error))
    return tuple(faults)


def _bodies(run: RunReader) -> Iterator[str]:
    """Bodies that are missing, changed, or written down in another way, and stored files that no line names."""
    for entry in run.entries:
        if isinstance(entry.record, Sent | Answered):
            kind = "request" if isinstance(entry.record, Sent) else "answer"
            where = f"{kind} {entry.record.slot} (line {entry.seq + 1})"
            try:
                # Cut anew: a body that is written down in another way could hide
                # an image from those who count placeholders.
                if cut(run.bodies.get(entry.record.body)).text != entry.record.body.text:
                    yield f"{where}: its body is written down in another way than this version's"
            except ClientError as error:
                yield f"{where}: {error}"
    yield from _check_stored(run)
    listed, empty = run.files | _leftovers(run), () if run.finished else (BODIES,)
    yield from find_file_faults(run.layout.root, TRANSCRIPT, listed, "belongs to no record", empty)


def _leftovers(run: RunReader) -> set[str]:
    """Return what a run that was cut off may have stored and not yet put on record; its end removes it."""
    if run.finished or not run.layout.bodies.is_dir():
        return set()
    stored = {f"{BODIES}/{path.name}" for path in run.layout.bodies.iterdir()} - run.files
    return {name for name in stored if _is_whole(run, name.removeprefix(f"{BODIES}/"))}


def _is_whole(run: RunReader, name: str) -> bool:
    """True if a stored file is what its name says."""
    try:
        run.bodies.file(name)
    except ClientError:
        return False
    return True


def _check_stored(run: RunReader) -> Iterator[str]:
    """Stored files that are not what their names say, apart from those that bodies are made of, which were read."""
    bodies = (each.record.body for each in run.entries if isinstance(each.record, Sent | Answered))
    read = {f"{BODIES}/{name}" for body in bodies for name in body.files}
    for path in sorted(run.files - read - {LOG}):
        if kind_of(run.layout.transcript / path) == stat.S_IFREG:
            try:
                run.bodies.file(path.removeprefix(f"{BODIES}/"))
            except ClientError as error:
                yield f"transcript/{path}: {error}"


def _library(run: RunReader, plan: PublicPlan) -> Library | None:
    """Return the provider's description of its public images, as it answered to the greeting."""
    answers = (each.record for each in run.entries if isinstance(each.record, Answered))
    greetings = (each for each in answers if each.slot == GREETING_SLOT and each.succeeded)
    said = next(greetings, None)
    return None if said is None else dialect(plan.dialect).library(plan.model, run.bodies.get(said.body))


def _terms(run: RunReader) -> Iterator[str]:
    """Check if the plan is for this run and API, and says of the API's images what the API said."""
    plan, opened = run.plan, run.opened
    if plan is None:
        if run.finished:
            yield "no plan is on record, so no request had a reason to leave"
        return
    if (opened.run_id, opened.api, opened.dialect) != (plan.run_id, plan.api, plan.dialect):
        yield "the plan is for another run, address or dialect than the record was opened for"
    if (plan.rewriter and plan.rewriter.api) != (opened.rewriter and opened.rewriter.api):
        yield "line 1: the record was opened for another rewriter than the plan has"
    if plan.library != _library(run, plan):
        yield "the plan says another thing of the provider's images than the provider did"
