"""The page about a run that a person looks at: one file, made from public records alone."""

from __future__ import annotations

from pcevolve.pages.report.charts import AccuracyPoint
from pcevolve.pages.report.page import CONTROL, SHOTS, render, rewrite_report, write_report
from pcevolve.pages.report.source import FinishedRun

__all__ = ["CONTROL", "SHOTS", "AccuracyPoint", "FinishedRun", "render", "rewrite_report", "write_report"]
