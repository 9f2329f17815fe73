"""Publish an owner's copy of a closed record; the release follows from the record."""

from __future__ import annotations

from typing import Any

from pcevolve.public.clinics.naming import note_received
from pcevolve.public.lineage import Lineage
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.publish.dataset import publish, write_summary
from pcevolve.public.publish.release import DatasetRelease
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Received, RecordedRelease
from pcevolve.public.usable import UsableRule


def publish_copy(folder: RunFolder) -> dict[str, Any]:
    """Write release and report of a closed record, from the record alone, and return the summary."""
    record = RunReader.strict(folder.root)
    plan = record.require_plan()
    usability = UsableRule(plan, record.bodies.file)
    lineage = Lineage(plan, usability.identify, usability.is_enough)
    for entry in record.entries:
        if isinstance(entry.record, Received):
            note_received(lineage, entry.record)
        elif isinstance(entry.record, RecordedRelease):
            lineage.receipts.append(entry.record.receipt)
    if not folder.finished:
        publish(folder.release, DatasetRelease.of(record, lineage.dataset()), record.bodies.file)
    write_report(record)
    return {**write_summary(record), "dataset": str(folder.release), "report": str(folder.report)}
