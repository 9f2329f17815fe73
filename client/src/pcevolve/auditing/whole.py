"""A whole audit of one run, as the command makes it: the record is read once, and everything is asked of that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pcevolve.auditing.capture import reconcile
from pcevolve.auditing.checks import checked
from pcevolve.auditing.pages import wire_page_finding
from pcevolve.auditing.selection import LoadEncoder, encoder_of
from pcevolve.pages.wire import write_viewer
from pcevolve.public.finding import Finding
from pcevolve.publish import marks
from pcevolve.transcript import RunLayout, RunReader


@dataclass
class Audit:
    """What was found about a run.

    Attributes:
        run: What could be read of its record.
        findings: Each claim, and whether it holds.
    """

    run: RunReader
    findings: list[Finding]

    @classmethod
    def of(cls, root: Path, load: LoadEncoder = encoder_of, capture: Path | None = None) -> Audit:
        """Check a run, and compare it with an independent capture of its traffic if there is one.

        Raises:
            UsageError: The path is not a run's folder.
            TranscriptError: The capture cannot be read, or is damaged.
        """
        RunLayout(root).require_transcript()
        run = RunReader.lenient(root)
        findings = checked(run, load)
        if capture is not None:
            findings += _reconciled(run, capture)
        return cls(run, findings)

    @property
    def marks(self) -> list[str]:
        """What the plan says against the run's privacy; where no plan can be read, the findings tell that."""
        plan = self.run.plan if self.run.whole else None
        return [] if plan is None else marks(plan)

    @property
    def mark(self) -> str:
        """The word for a run that promises nothing; empty for all others."""
        plan = self.run.plan if self.run.whole else None
        return "" if plan is None else plan.mark

    @property
    def secure(self) -> bool:
        """Whether the noise came from where noise comes from, as far as a plan can be read that says otherwise."""
        plan = self.run.plan if self.run.whole else None
        return plan is None or plan.secure

    @property
    def holds(self) -> bool:
        """Whether every claim holds, and the noise protects somebody."""
        return self.secure and all(each.holds for each in self.findings)

    @property
    def unfinished(self) -> bool:
        """Whether nothing is broken, and the run has not come to its end."""
        return not self.broken and any(each.pending for each in self.findings)

    @property
    def broken(self) -> bool:
        """Whether a claim was looked at and does not hold."""
        return any(each.faults for each in self.findings)

    def write_wire_page(self) -> Path:
        """Write ``wire.html`` from the record and these findings, and return where."""
        return write_viewer(self.run, self.findings, self.run.layout.wire_page)

    def check_wire_page(self) -> None:
        """Add a finding about the ``wire.html`` that is there, if one is."""
        self.findings += wire_page_finding(self.run, self.findings)


def _reconciled(run: RunReader, capture: Path) -> list[Finding]:
    """What a capture says about a record; of one that is not whole, the audit's own findings say what is wrong."""
    if not run.whole:
        return [Finding("the capture agrees with the record", ("there is no record to compare with",), 0)]
    return reconcile(run, capture)
