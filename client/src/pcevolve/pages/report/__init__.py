"""The page about a run that a person looks at: one file, made from public records alone."""

from __future__ import annotations

from pcevolve.pages.report.curves import AccuracyPoint
from pcevolve.pages.report.page import write_report

__all__ = ["AccuracyPoint", "write_report"]
