"""Re-checks a finished run from its transcript, without the private data and without the ledger."""

from __future__ import annotations

from pathlib import Path

from ..errors import TranscriptError
from .capture import reconcile
from .checks import Finding, audit
from .evidence import Evidence

__all__ = ["Finding", "audit", "reconciled"]


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
