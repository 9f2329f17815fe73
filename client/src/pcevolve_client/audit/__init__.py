"""Re-checks a finished run from its transcript, without the private data and without the ledger."""

from __future__ import annotations

from pathlib import Path

from .capture import reconcile
from .checks import Finding, audit
from .evidence import Evidence

__all__ = ["Finding", "audit", "reconciled"]


def reconciled(root: Path, capture: Path) -> list[Finding]:
    """Compare a run with an independent capture of its traffic; a broken transcript is the audit's to tell.

    Raises:
        TranscriptError: The transcript or the capture cannot be read.
    """
    return reconcile(Evidence.of(root), capture)
