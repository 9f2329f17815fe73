"""A whole audit of one run, as the command makes it: the record is read once, and everything is asked of that.

What it verified it renders itself, so that nobody has to believe the pages that lie in the run's folder.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pcevolve.auditing.capture import reconcile
from pcevolve.auditing.cards import CLAIM, find_other_cards
from pcevolve.auditing.checks import check_run
from pcevolve.auditing.rebuilt import RebuiltRelease, export_claim
from pcevolve.auditing.selection import LoadEncoder, find_encoder
from pcevolve.durable import replace_folder_durably
from pcevolve.pages.report import FinishedRun, render
from pcevolve.pages.wire import render_viewer
from pcevolve.public.finding import Finding
from pcevolve.publish import list_marks, write_card
from pcevolve.publish.dataset import encode, summarise
from pcevolve.transcript import RunLayout, RunReader
from pcevolve.transcript.layout import CARD, EXPORTS, RELEASE, REPORT, SUMMARY, TRANSCRIPT, WIRE_PAGE, kind_of


@dataclass
class Audit:
    """An audit's findings about a run, and the release as the record gives it; None where there is none to be read."""

    run: RunReader
    findings: list[Finding]
    released: RebuiltRelease | None = None

    @classmethod
    def of(
        cls,
        root: Path,
        load: LoadEncoder = find_encoder,
        capture: Path | None = None,
        rewriter_capture: Path | None = None,
    ) -> Audit:
        """Check a run, and compare it with independent captures of its traffic if there are any.

        Raises:
            UsageError: The path is not a run's folder, another version made the run, or the run has no rewriter of
                which there is a capture.
            TranscriptError: The capture cannot be read, or is damaged.
        """
        RunLayout(root).require_transcript()
        run = RunReader.lenient(root)
        findings, released = check_run(run, load)
        for path, of_rewriter in ((capture, False), (rewriter_capture, True)):
            if path is not None:
                findings += _reconcile(run, path, of_rewriter)
        return cls(run, findings, released)

    @property
    def marks(self) -> list[str]:
        """The plan's warnings about the run's privacy; none if no plan can be read, which is a finding itself."""
        plan = self.run.plan if self.run.whole else None
        return [] if plan is None else list_marks(plan)

    @property
    def secure(self) -> bool:
        """True if the noise came from where noise comes from, as far as a plan can be read that says otherwise."""
        plan = self.run.plan if self.run.whole else None
        return plan is None or plan.secure

    @property
    def holds(self) -> bool:
        """True if every claim holds, and the noise protects somebody."""
        return self.secure and all(each.holds for each in self.findings)

    @property
    def unfinished(self) -> bool:
        """True if nothing is broken, and the run has not come to its end."""
        return not self.broken and any(each.pending for each in self.findings)

    @property
    def broken(self) -> bool:
        """True if a claim was looked at and does not hold."""
        return any(each.faults for each in self.findings)

    @property
    def in_other_words(self) -> bool:
        """True if nothing was left unchecked but the words of cards."""
        return {each.claim for each in self.findings if each.unchecked} == {CLAIM}

    @cached_property
    def summary(self) -> dict[str, Any] | None:
        """The figures of the run; None unless all that they follow from was verified."""
        # Anything broken makes the figures somebody's claim, so none is printed.
        if self.released is None or self.broken:
            return None
        return summarise(self.released.run, self.released.plan, len(self.released.files))

    @property
    def unverified(self) -> list[str]:
        """Every file and folder of the run that was not verified, a folder with a slash at its end."""
        root = self.run.layout.root
        verified = self._list_verified()
        there = [path for path in sorted(root.iterdir()) if path.name not in verified]
        names = [f"{path.name}/" if kind_of(path) == stat.S_IFDIR else path.name for path in there]
        cards = self.released is not None and any(
            each.claim == CLAIM and not each.holds for each in self.findings
        )
        return [
            *names,
            *([each.path for each in find_other_cards(self.released)] if cards and self.released else []),
        ]

    def _list_verified(self) -> set[str]:
        """The folders that were compared with the record, file by file; what is wrong with them the findings tell."""
        if not self.run.whole:
            return set()
        if self.released is None:
            return {TRANSCRIPT}
        compared = {each.claim for each in self.findings if not each.unchecked}
        return {TRANSCRIPT, RELEASE} | {
            name for form, name in EXPORTS.items() if export_claim(form) in compared
        }

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
        pages = {WIRE_PAGE: render_viewer(self.run, self.findings)}
        if self.released is None or self.summary is None:
            return pages
        run, plan = self.released.run, self.released.plan
        report = render(FinishedRun(run, plan, self.released.manifest()), ())
        return pages | {
            CARD: write_card(self.released.release, len(self.released.files)).encode(),
            REPORT: report.encode(),
            SUMMARY: encode(self.summary),
        }


def _reconcile(run: RunReader, capture: Path, of_rewriter: bool) -> list[Finding]:
    """Compare a capture with a record; if it is not whole, the audit's own findings say what is wrong."""
    if not run.whole:
        return [Finding("the capture agrees with the record", ("there is no record to compare with",), 0)]
    return reconcile(run, capture, of_rewriter)
