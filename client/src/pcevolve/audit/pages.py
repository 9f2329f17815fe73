"""Rebuilds what a run says about itself beside its release: summary, report and wire page follow from the record."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from pcevolve.pages.report.page import REPORT, render
from pcevolve.pages.report.records import RunRecords
from pcevolve.public.plan import PublicPlan
from pcevolve.publish.summary import SUMMARY, spelled, summary
from pcevolve.transcript.evidence import Evidence
from pcevolve.transcript.tree import KINDS, kind_of

WIRE = "wire.html"
OWN = {
    "config.toml": stat.S_IFREG,
    ".lock": stat.S_IFREG,
    "private": stat.S_IFDIR,
    "release": stat.S_IFDIR,
    "transcript": stat.S_IFDIR,
    SUMMARY: stat.S_IFREG,
    REPORT: stat.S_IFREG,
    WIRE: stat.S_IFREG,
}
"""All that lies in a run's folder. Options, lock and ``private/`` are the owner's and are not looked into."""


def page_faults(evidence: Evidence, plan: PublicPlan, released: int) -> Iterator[str]:
    """What lies in the run's folder and is no part of a run, and pages that say something else than the record.

    Args:
        evidence: The record.
        plan: The public plan.
        released: Images in the dataset.
    """
    for path in sorted(evidence.root.iterdir()):
        kind = kind_of(path)
        if path.name not in OWN:
            yield f"{path.name!a} belongs to no run"
        elif kind != OWN[path.name]:
            yield f"{path.name} is {KINDS.get(kind or 0, 'no plain file')}"
    values = summary(plan, evidence.receipts, evidence.entries, released)
    yield from _same(evidence.root / SUMMARY, lambda: spelled(values))
    yield from _same(evidence.root / REPORT, lambda: render(RunRecords.of(evidence.root), ()).encode())


def wire_faults(root: Path, rendered: Callable[[], bytes]) -> Iterator[str]:
    """Whether the wire page, if there is one, is the one that the audit makes of this record."""
    yield from _same(root / WIRE, rendered)


def _same(path: Path, expected: Callable[[], bytes]) -> Iterator[str]:
    if kind_of(path) == stat.S_IFREG and path.read_bytes() != expected():
        yield f"{path.name} is not what this version makes of the record: do not believe it, or have it made anew"
