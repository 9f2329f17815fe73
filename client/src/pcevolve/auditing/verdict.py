"""The audit of one run: each claim's finding, the verdict, and pages of the verified record.

The record is read once. An audit renders its own pages from the verified record, so that nobody has to trust the
pages in the run's folder.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pcevolve.auditing.capture import reconcile
from pcevolve.auditing.checks import (
    check_choices,
    check_end,
    check_folder,
    check_record,
    check_release,
    list_claims_of,
    list_derived,
)
from pcevolve.auditing.rebuilt import RebuiltRelease, export_claim, holds_bytes
from pcevolve.auditing.rerun import LoadEncoder, Rerun, find_encoder
from pcevolve.auditing.summed import check_sums
from pcevolve.errors import ClientError
from pcevolve.public.durable import replace_folder_durably
from pcevolve.public.finding import Finding
from pcevolve.public.pages.report.page import render
from pcevolve.public.pages.wire.page import render_viewer
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.dataset import encode, summarise
from pcevolve.public.publish.promises import list_marks
from pcevolve.public.publish.source import SourceRun
from pcevolve.public.transcript.irregular import find_irregular_files, kind_of
from pcevolve.public.transcript.layout import (
    CARD,
    EXPORTS,
    MANIFEST,
    RELEASE,
    REPORT,
    SUMMARY,
    TRANSCRIPT,
    WIRE_PAGE,
    RunLayout,
)
from pcevolve.public.transcript.reader import FinishedRun, RunReader


def audit(root: Path, load: LoadEncoder = find_encoder) -> list[Finding]:
    """Check the run in a folder and report every fault. Only an unreadable record stops the other checks."""
    return Audit.of_record(RunReader.lenient(root), load).findings


@dataclass(repr=False)
class Audit:
    """An audit's findings about a run; the library returns them as ``AuditResult``.

    Attributes:
        released: The release rebuilt from the record; None if the run is unfinished or unreadable.
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
        """Check a run, and compare it with an independent capture of its traffic if one is given.

        Args:
            sources: Runs whose release this run may start from, and the runs that those start from.

        Raises:
            UsageError: The path is not a run's folder, or another version made the run.
            TranscriptError: The capture is unreadable or damaged.
        """
        RunLayout(root).require_transcript()
        audited = cls.of_record(RunReader.lenient(root), load)
        audited.findings += _check_start(audited.run, load, sources)
        if capture is not None:
            audited.findings += _reconcile(audited.run, capture)
        return audited

    @classmethod
    def of_record(cls, run: RunReader, load: LoadEncoder) -> Audit:
        """Check a run from its record, as far as the record can be read."""
        audited = cls(run)
        # Check before any file is opened, because a pipe in a shared folder would block the auditor forever.
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
        self.findings += [Finding("the chain of records is unbroken", (), len(run.entries)), check_end(run)]
        self.findings += check_record(run, again)
        self.findings += check_choices(run, again, load)
        self.findings += check_sums(run, again, load)
        plan = run.plan if run.finished and list_derived(run) else None
        evolved = again.evolved
        # Nothing can be derived from a record that breaks off; its fault is already reported.
        if plan is not None and evolved is not None:
            self.released = RebuiltRelease(run, plan, evolved.dataset)
            self.findings += check_release(self.released)
        self.findings.append(check_folder(run, finished=plan is not None))

    @property
    def _plan(self) -> PublicPlan | None:
        return self.run.plan if self.run.whole else None

    @property
    def marks(self) -> list[str]:
        """The plan's warnings about the run's privacy; empty without a readable plan, which is itself a finding."""
        return [] if self._plan is None else list_marks(self._plan)

    @property
    def faults(self) -> list[str]:
        """All evidence against the claims, with all unchecked and pending claims."""
        return [
            f"{each.claim}: {fault}"
            for each in self.findings
            for fault in (*each.faults, *filter(None, (each.unchecked, each.pending)))
        ]

    @property
    def secure(self) -> bool:
        """False if a readable plan states that the noise was seeded."""
        return self._plan is None or self._plan.secure

    @property
    def holds(self) -> bool:
        """True if every claim holds and the noise gives privacy."""
        return self.secure and all(each.holds for each in self.findings)

    def __bool__(self) -> bool:
        """Equal to ``holds``."""
        return self.holds

    @property
    def unfinished(self) -> bool:
        """True if no claim is broken and the run is unfinished."""
        return not self.broken and any(each.pending for each in self.findings)

    @property
    def broken(self) -> bool:
        """True if a claim was checked and does not hold."""
        return any(each.faults for each in self.findings)

    @cached_property
    def summary(self) -> dict[str, Any] | None:
        """The figures of the run; None unless everything that they depend on was verified."""
        # After any broken claim the figures are unproven, so they are not printed.
        if self.released is None or self.broken:
            return None
        return summarise(self.released.run, self.released.plan, len(self.released.files))

    @property
    def claims(self) -> dict[str, Any]:
        """The statements in the record that rest on the owner's word alone, by field; see ``auditing.checks``."""
        return list_claims_of(self.run) if self.run.whole else {}

    @property
    def unverified(self) -> list[str]:
        """Every file and folder of the run that was not verified; folders end with a slash.

        A card, report or summary is verified if it equals this version's rendering of the record.
        """
        root = self.run.layout.root
        verified = self._list_verified()
        there = [path for path in sorted(root.iterdir()) if path.name not in verified]
        names = [f"{path.name}/" if kind_of(path) == stat.S_IFDIR else path.name for path in there]
        if self.released is None:
            return names
        # No card can be derived from a broken record or release.
        return [*names, *(self.released.cards if self.broken else self.released.other_cards)]

    def _list_verified(self) -> set[str]:
        """Return the entries whose content was compared with the record; findings report their faults."""
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
        """Write this audit's own pages into the run's ``audit/``, replacing an earlier audit's pages.

        The page about all traffic, with the verdict, is always written. Card, report and summary are written only for a
        finished run without broken claims.
        """
        folder = self.run.layout.audit
        # Replace the folder in one step, so that pages of two audits are never mixed.
        with replace_folder_durably(folder) as partial:
            for name, data in self._pages().items():
                (partial / name).write_bytes(data)
        return folder / WIRE_PAGE

    def _pages(self) -> dict[str, bytes]:
        pages = {WIRE_PAGE: render_viewer(self.run, self.findings), **self.render_views(WIRE_PAGE)}
        if self.released is not None and self.summary is not None:
            pages[CARD] = self.released.render_card()
        return pages

    def render_views(self, wire_page: str = "") -> dict[str, bytes]:
        """Render report and summary of a run without broken claims; the report links to ``wire_page``."""
        if self.released is None or self.summary is None:
            return {}
        run, plan = self.released.run, self.released.plan
        report = render(FinishedRun(run, plan, self.released.manifest()), (), wire_page)
        return {REPORT: report.encode(), SUMMARY: encode(self.summary)}


def _reconcile(run: RunReader, capture: Path) -> list[Finding]:
    """Compare a capture with a record. For a broken record, only report that the capture cannot be compared with it."""
    if not run.whole:
        return [Finding("the capture agrees with the record", ("there is no record to compare with",), 0)]
    return reconcile(run, capture)


def _check_start(run: RunReader, load: LoadEncoder, sources: Sequence[Path]) -> list[Finding]:
    """Check that a run starts from a release whose own audit holds; empty for other runs."""
    plan = run.plan if run.whole else None
    if plan is None or plan.start is None:
        return []
    claim, count = (
        "the images that this run varies come from a run that passes its audit",
        sum(map(len, plan.start.images)),
    )
    there = [(each, RunLayout(each).manifest) for each in sources]
    digests = {each: hashlib.sha256(path.read_bytes()).hexdigest() for each, path in there if path.is_file()}
    found = [each for each, digest in digests.items() if digest == plan.start.manifest]
    if not found:
        why = (
            f"give --from RUN, where RUN is the run whose release/{MANIFEST} has sha256 {plan.start.manifest}"
        )
        return [
            Finding(
                claim,
                (),
                0,
                f"the run that released these images, and its epsilon, cannot be checked: {why}",
            )
        ]
    try:
        differences = tuple(SourceRun.at(found[0]).find_differences(plan))
    except ClientError as error:
        return [Finding(claim, (str(error),), count)]
    # Without the source itself, so that runs which name each other cannot make the audit endless.
    own = Audit.of(found[0], load, sources=[each for each in sources if each != found[0]])
    faults = [fault for each in own.findings for fault in each.faults]
    missing = [why for each in own.findings for why in (each.unchecked, each.pending) if why]
    return [
        Finding(claim, (*differences, *faults), count, "" if faults or differences else "; ".join(missing))
    ]
