"""The functions and values of ``import pcevolve``: the command line's work, for scripts and notebooks.

Nothing is decided here. Options go to ``session`` as the command line's do, runs are made by the same processes, and
what only reads files is done by a process without a network, so that what is made here and what is made there differ in
nothing: gate, ledger, plan, record and audit are the same.
"""

from pcevolve.app.interface.measuring import check, classify, compare, evaluate
from pcevolve.app.interface.planning import plan
from pcevolve.app.interface.results import DatasetImage, Result, load
from pcevolve.app.interface.running import PreviewImage, PreviewResult, Provider, evolve, preview, vary
from pcevolve.app.interface.values import (
    CheckResult,
    ClassificationResult,
    ClassifiedFile,
    ComparisonResult,
    EvaluationResult,
)
from pcevolve.app.interface.verifying import AuditResult, export, pack, verify
from pcevolve.public.run.progress import Progress
from pcevolve.public.selectors.planner import BudgetPlan

__all__ = [
    "AuditResult",
    "BudgetPlan",
    "CheckResult",
    "ClassificationResult",
    "ClassifiedFile",
    "ComparisonResult",
    "DatasetImage",
    "EvaluationResult",
    "PreviewImage",
    "PreviewResult",
    "Progress",
    "Provider",
    "Result",
    "check",
    "classify",
    "compare",
    "evaluate",
    "evolve",
    "export",
    "load",
    "pack",
    "plan",
    "preview",
    "vary",
    "verify",
]
