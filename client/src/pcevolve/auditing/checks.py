"""The audit of one run: a list of claims, each checked on its own, each with what is wrong if it is.

The record is read once, and everything is asked of that. What it verified an audit renders itself, so that nobody has
to believe the pages that lie in the run's folder.
"""

from __future__ import annotations

import hashlib
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pcevolve.auditing.capture import reconcile
from pcevolve.auditing.claims import list_claims_of
from pcevolve.auditing.lines import collect, find_body_faults
from pcevolve.auditing.rebuilt import RebuiltRelease, check_exports, export_claim, holds_bytes
from pcevolve.auditing.rerun import LoadEncoder, Rerun, Selections, find_encoder
from pcevolve.auditing.second_check import find_request_faults
from pcevolve.durable import replace_folder_durably
from pcevolve.egress.answers import is_same_model
from pcevolve.errors import ClientError
from pcevolve.pages.notebook import render_table
from pcevolve.pages.report.page import render
from pcevolve.pages.wire.page import render_viewer
from pcevolve.providers import dialect
from pcevolve.public.finding import Finding
from pcevolve.public.parts import Exact, Library
from pcevolve.public.plan import PublicPlan
from pcevolve.publish.dataset import encode, summarise
from pcevolve.publish.promises import list_marks
from pcevolve.publish.source import Source
from pcevolve.transcript import RunLayout, RunReader
from pcevolve.transcript.layout import (
    AUDIT,
    CARD,
    EXPORTS,
    KIND_NAMES,
    KINDS,
    LOCK,
    MANIFEST,
    RELEASE,
    REPORT,
    SUMMARY,
    TRANSCRIPT,
    WIRE_PAGE,
    advise_deletion,
    find_irregular_files,
    kind_of,
)
from pcevolve.transcript.reader import FinishedRun
from pcevolve.transcript.records import GREETING_SLOT, Answered


def audit(root: Path, load: LoadEncoder = find_encoder) -> list[Finding]:
    """Check the run in a folder; every fault is told, none stops the rest unless nothing can be read."""
    return Audit.of_record(RunReader.lenient(root), load).findings


@dataclass(repr=False)
class Audit:
    """An audit's findings about a run, which is also what ``pcevolve.audit`` gives.

    Attributes:
        released: The release as the record gives it; None where the run is unfinished or cannot be read.
    """

    run: RunReader
    findings: list[Finding] = field(default_factory=list)
    released: RebuiltRelease | None = None

    @classmethod
    def of(
        cls,
        root: Path,
        load: LoadEncoder = find_encoder,
        capture: Path | None = None,
        sources: Sequence[Path] = (),
    ) -> Audit:
        """Check a run, and compare it with an independent capture of its traffic if there is one.

        Args:
            sources: Runs whose releases it may start from, and those that they start from.

        Raises:
            UsageError: The path is not a run's folder, or another version made the run.
            TranscriptError: The capture cannot be read, or is damaged.
        """
        RunLayout(root).require_transcript()
        audited = cls.of_record(RunReader.lenient(root), load)
        audited.findings += _check_start(audited.run, load, sources)
        if capture is not None:
            audited.findings += _reconcile(audited.run, capture)
        return audited

    @classmethod
    def of_record(cls, run: RunReader, load: LoadEncoder) -> Audit:
        """Check a run whose record has been read, as far as it can be."""
        audited = cls(run)
        # Before anything is opened: a pipe in a shared folder would block the auditor for ever.
        odd = [
            fault for name in (TRANSCRIPT, RELEASE) for fault in find_irregular_files(run.layout.root, name)
        ]
        if odd:
            audited.findings = [
                Finding("there are plain files and folders, and nothing else", tuple(odd), len(odd))
            ]
        elif run.why_not_whole is not None:
            audited.findings = [Finding("the chain of records is unbroken", (run.why_not_whole,), 0)]
        else:
            audited._check(load)
        return audited

    def _check(self, load: LoadEncoder) -> None:
        run = self.run
        again = Rerun.of(run)
        self.findings += [Finding("the chain of records is unbroken", (), len(run.entries)), _end(run)]
        self.findings += _of_record(run, again)
        self.findings += _choices(run, again, load)
        plan = run.plan if run.finished and _list_derived(run) else None
        evolved = again.evolved
        # Nothing follows from a record that breaks off; what is wrong with it was told.
        if plan is not None and evolved is not None:
            self.released = RebuiltRelease(run, plan, evolved.dataset)
            self.findings += _rebuilt(self.released)
        self.findings.append(_beside(run, finished=plan is not None))

    @property
    def _plan(self) -> PublicPlan | None:
        return self.run.plan if self.run.whole else None

    @property
    def marks(self) -> list[str]:
        """The plan's warnings about the run's privacy; none if no plan can be read, which is a finding itself."""
        return [] if self._plan is None else list_marks(self._plan)

    @property
    def faults(self) -> list[str]:
        """All that speaks against the claims, what was not checked, and what has not happened yet."""
        return [
            f"{each.claim}: {fault}"
            for each in self.findings
            for fault in (*each.faults, *filter(None, (each.unchecked, each.pending)))
        ]

    @property
    def secure(self) -> bool:
        """True if the noise came from where noise comes from, as far as a plan can be read that says otherwise."""
        return self._plan is None or self._plan.secure

    @property
    def holds(self) -> bool:
        """True if every claim holds, and the noise protects somebody."""
        return self.secure and all(each.holds for each in self.findings)

    def __bool__(self) -> bool:
        """Return True if it holds."""
        return self.holds

    def __repr__(self) -> str:
        """One line: the verdict, then what speaks against it."""
        against = "; ".join((*self.marks, *self.faults))
        said = f"holds, {len(self.findings)} claims" if self.holds else f"does NOT hold: {against}"
        return f"<AuditResult: {said}>"

    def _repr_html_(self) -> str:
        found = (*self.marks, *self.faults)
        said = "Holds: every claim follows from the record." if self.holds else f"Does NOT hold. {found[0]}"
        rows = [(each.claim, f"{each.verdict} ({each.checked} checked)") for each in self.findings]
        return render_table(said, [*rows, ("not verified", ", ".join(self.unverified) or "nothing")])

    @property
    def unfinished(self) -> bool:
        """True if nothing is broken, and the run has not come to its end."""
        return not self.broken and any(each.pending for each in self.findings)

    @property
    def broken(self) -> bool:
        """True if a claim was looked at and does not hold."""
        return any(each.faults for each in self.findings)

    @cached_property
    def summary(self) -> dict[str, Any] | None:
        """The figures of the run; None unless all that they follow from was verified."""
        # Anything broken makes the figures somebody's claim, so none is printed.
        if self.released is None or self.broken:
            return None
        return summarise(self.released.run, self.released.plan, len(self.released.files))

    @property
    def claims(self) -> dict[str, Any]:
        """What the record says on the owner's word alone, by the names of the plan's fields; see ``claims``."""
        return list_claims_of(self.run) if self.run.whole else {}

    @property
    def unverified(self) -> list[str]:
        """Every file and folder of the run that was not verified, a folder with a slash at its end.

        A card, report or summary is verified where it is what this version renders of the record.
        """
        root = self.run.layout.root
        verified = self._list_verified()
        there = [path for path in sorted(root.iterdir()) if path.name not in verified]
        names = [f"{path.name}/" if kind_of(path) == stat.S_IFDIR else path.name for path in there]
        if self.released is None:
            return names
        # No card follows from a record or a release that is not what it says.
        return [*names, *(self.released.cards if self.broken else self.released.other_cards)]

    def _list_verified(self) -> set[str]:
        """The folders that were compared with the record, file by file; what is wrong with them the findings tell."""
        if not self.run.whole:
            return set()
        if self.released is None:
            return {TRANSCRIPT}
        root, compared = self.run.layout.root, {each.claim for each in self.findings if not each.unchecked}
        exported = {name for form, name in EXPORTS.items() if export_claim(form) in compared}
        views = self.render_views()
        return (
            {TRANSCRIPT, RELEASE}
            | exported
            | {each for each in views if holds_bytes(root / each, views[each])}
        )

    def write_pages(self) -> Path:
        """Write what this audit renders itself into the run's ``audit/``, in the place of an earlier one's pages.

        That is the page about all that left, with the verdict; and, where nothing is broken and the run is finished,
        card, report and summary.
        """
        folder = self.run.layout.audit
        # In one move, so that pages of two audits never lie side by side.
        with replace_folder_durably(folder) as partial:
            for name, data in self._pages().items():
                (partial / name).write_bytes(data)
        return folder / WIRE_PAGE

    def _pages(self) -> dict[str, bytes]:
        """Content by name."""
        pages = {WIRE_PAGE: render_viewer(self.run, self.findings), **self.render_views(WIRE_PAGE)}
        if self.released is not None and self.summary is not None:
            pages[CARD] = self.released.render_card()
        return pages

    def render_views(self, wire_page: str = "") -> dict[str, bytes]:
        """Report and summary of a run of which nothing is broken, else nothing; ``wire_page`` is linked, if any."""
        if self.released is None or self.summary is None:
            return {}
        run, plan = self.released.run, self.released.plan
        report = render(FinishedRun(run, plan, self.released.manifest()), (), wire_page)
        return {REPORT: report.encode(), SUMMARY: encode(self.summary)}


def _reconcile(run: RunReader, capture: Path) -> list[Finding]:
    """Compare a capture with a record; if it is not whole, the audit's own findings say what is wrong."""
    if not run.whole:
        return [Finding("the capture agrees with the record", ("there is no record to compare with",), 0)]
    return reconcile(run, capture)


def _check_start(run: RunReader, load: LoadEncoder, sources: Sequence[Path]) -> list[Finding]:
    """Check if what a run starts from is a release whose own audit holds; nothing of a run that starts from none."""
    plan = run.plan if run.whole else None
    if plan is None or plan.start is None:
        return []
    claim, count = "what it varies is a release of a run whose audit holds", sum(map(len, plan.start.images))
    there = [(each, RunLayout(each).manifest) for each in sources]
    digests = {each: hashlib.sha256(path.read_bytes()).hexdigest() for each, path in there if path.is_file()}
    found = [each for each, digest in digests.items() if digest == plan.start.manifest]
    if not found:
        why = f"give --from RUN with the run whose release/{MANIFEST} has sha256 {plan.start.manifest}"
        return [
            Finding(claim, (), 0, f"nothing shows that these images are a release, nor its epsilon: {why}")
        ]
    try:
        differences = tuple(Source.at(found[0]).find_differences(plan))
    except ClientError as error:
        return [Finding(claim, (str(error),), count)]
    own = Audit.of(found[0], load, sources=[each for each in sources if each != found[0]])
    faults = [fault for each in own.findings for fault in each.faults]
    missing = [why for each in own.findings for why in (each.unchecked, each.pending) if why]
    return [
        Finding(claim, (*differences, *faults), count, "" if faults or differences else "; ".join(missing))
    ]


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
    return [Finding(claim, collect(chosen.faults()), measured)]


def _of_record(run: RunReader, again: Rerun) -> list[Finding]:
    """Return what is claimed about any record, each claim with the number of things that it is about."""
    planless = run.plan is None and not run.finished
    failed = sum(each.failure is not None for each in run.traffic.attempts)
    exchanged = again.key.exchanged
    free = [f"{failed} got no answer"] * bool(failed) + [f"{exchanged} showed another key"] * bool(exchanged)
    room = f"; that {' and '.join(free)}, the record alone says" if free else ""
    return [
        Finding(
            "every recorded body is complete and unchanged, and nothing else is stored",
            collect(find_body_faults(run)),
            run.bodies_on_record,
        ),
        Finding(
            "run again over the recorded answers, the plan sends every request as it is on record, in this order"
            + room,
            (*collect(_terms(run)), *again.requests),
            run.requests,
            pending="no plan is on record yet, and so no prompt was sent" if planless else "",
        ),
        Finding(
            "every image that left had come from the API, and the plan or a receipt named it; nothing else was free",
            collect(find_request_faults(run)),
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
    there = run.finished and run.layout.manifest.is_file()
    if there:
        return Finding(claim, (), 1)
    end = "the end of its record is not anchored, so lines may be missing in transcript/log.jsonl"
    why = f"the run is unfinished: {end}{', and the last is torn off' if run.torn else ''}"
    if made:
        return Finding(claim, (f"{why}, and yet there is {', '.join(made)}",), 0)
    return Finding(claim, (), 0, pending=f"{why}; {run.advice}")


def _list_derived(run: RunReader) -> list[str]:
    """List what lies in the folder and is made of a closed record; links are not followed."""
    names = (RELEASE, SUMMARY, REPORT, *EXPORTS.values())
    return [name for name in names if kind_of(run.layout.root / name) is not None]


def _rebuilt(released: RebuiltRelease) -> list[Finding]:
    """Make the data that may be shared beside the transcript again from it, and compare them byte for byte."""
    claim, faults = "the release is what the record gives, byte for byte", collect(released.faults())
    made = Finding(claim, faults, len(released.files))
    try:
        return [made, *check_exports(released)]
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
            clearing = f"; if a command was cut off, pcevolve report {shlex.quote(str(run.layout.root))} clears it away"
            hint = clearing if path.name.endswith((".partial", ".fresh")) else advise_deletion(path.name)
            faults += [f"{path.name!a} belongs to no run{hint}"] if finished else []
        elif kind != KINDS[path.name]:
            faults.append(f"{path.name} is {KIND_NAMES.get(kind or 0, 'no plain file')}")
    # The same before and after an audit wrote its pages.
    count = sum(path.name not in {AUDIT, LOCK} for path in there)
    return Finding("nothing else lies in the run's folder", tuple(faults), count)


def _said(run: RunReader, plan: PublicPlan) -> tuple[Library | None, Exact | None]:
    """Return what the provider says of its public images and of exactness, as it answered to the greeting."""
    answers = (each.record for each in run.entries if isinstance(each.record, Answered))
    greetings = (each for each in answers if each.slot == GREETING_SLOT and each.succeeded)
    said = next(greetings, None)
    if said is None:
        return None, None
    spoken, body = dialect(plan.dialect), run.bodies.get(said.body)
    return spoken.library(plan.model, body), spoken.exact(plan.model, body)


def _answers_by_another_name(run: RunReader, plan: PublicPlan) -> bool:
    """True if an answer to a call of the plan named its model otherwise than the plan asks for it."""
    spoken = dialect(plan.dialect)
    answers = (each.record for each in run.entries if isinstance(each.record, Answered))
    named = (spoken.answered_by(run.bodies.get(each.body)) for each in answers if each.slot in plan.calls)
    return any(each and not is_same_model(plan.model, each) for each in named)


def _terms(run: RunReader) -> Iterator[str]:
    """Check if the plan is for this run and API, and says of the API's images what the API said."""
    plan, opened = run.plan, run.opened
    if plan is None:
        if run.finished:
            yield "no plan is on record, so no request had a reason to leave"
        return
    if (opened.run_id, opened.api, opened.dialect) != (plan.run_id, plan.api, plan.dialect):
        yield "the plan is for another run, address or dialect than the record was opened for"
    # That of a run that starts from a release is that run's.
    if plan.answered_by and plan.start is None and not _answers_by_another_name(run, plan):
        yield "the plan has another name for the model, by which no answer named that model"
    if opened.proxied and not plan.api.startswith("https:"):
        yield "line 1: a proxy carries https alone"
    if (plan.library, plan.exact) != _said(run, plan):
        yield "the plan says another thing of the provider's images than the provider did"
