"""Writes the pages of a finished run again, as this version makes them; the wire page is the audit's."""

from __future__ import annotations

from pathlib import Path

from pcevolve.pages.preview import write_preview
from pcevolve.pages.report import rewritten_report
from pcevolve.transcript import RunReader


def pages_anew(root: Path) -> list[Path]:
    """Write ``report.html``, and ``preview.html`` if there is one.

    Returns:
        The pages.

    Raises:
        UsageError: It is no run, or an unfinished one.
        TranscriptError: Its transcript or manifest is damaged.
    """
    pages = [rewritten_report(root)]
    run = RunReader.strict(root)
    return [*pages, write_preview(run)] if run.layout.preview.exists() else pages
