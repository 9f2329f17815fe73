"""The page about a run that a person looks at: one file, made from public records alone."""

from __future__ import annotations

from pcevolve_client.report.curves import AccuracyPoint
from pcevolve_client.report.page import write_report

__all__ = ["AccuracyPoint", "write_report"]
