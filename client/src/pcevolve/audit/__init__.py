"""Re-checks a finished run from its transcript, without the private data and without the ledger."""

from __future__ import annotations

from pathlib import Path

from pcevolve.audit.capture import reconcile
from pcevolve.audit.checks import audit
from pcevolve.audit.pages import WIRE, wire_faults
from pcevolve.errors import ClientError, TranscriptError
from pcevolve.public.finding import Finding
from pcevolve.publish.dataset import marks
from pcevolve.transcript.evidence import Evidence

__all__ = ["Finding", "audit", "marks_of", "reconciled", "wire_page_finding"]


def marks_of(root: Path) -> tuple[list[str], bool]:
    """What a run's plan says against its privacy, and whether its noise came from where noise comes from.

    Where no plan can be read there are no marks; the audit tells that.
    """
    try:
        plan = Evidence.of(root).plan
    except ClientError:
        return [], True
    return ([], True) if plan is None else (marks(plan), plan.secure)


def reconciled(root: Path, capture: Path) -> list[Finding]:
    """Compare a run with an independent capture of its traffic.

    Raises:
        TranscriptError: The capture cannot be read, or is damaged.
    """
    try:
        evidence = Evidence.of(root)
    except TranscriptError:  # what is wrong with it is among the audit's own findings
        return [Finding("the capture agrees with the record", ("there is no record to compare with",), 0)]
    return reconcile(evidence, capture)


def wire_page_finding(root: Path, findings: list[Finding]) -> list[Finding]:
    """Whether ``wire.html`` is the page that these findings and the record give; nothing where there is none."""
    if not (root / WIRE).is_file() or (root / WIRE).is_symlink():
        return []
    from pcevolve.pages.wire import rendered_viewer

    faults = tuple(wire_faults(root, lambda: rendered_viewer(root, findings)))
    return [Finding("so is the wire page (of an audit with the same --capture, if any)", faults, 1)]
