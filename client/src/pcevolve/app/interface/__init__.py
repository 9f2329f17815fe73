"""The functions and values of ``import pcevolve``: the commands' work, for scripts and notebooks.

Nothing is decided here. As on the command line, options go to ``session``, the same processes make runs,
and a process without network reads files. Results therefore equal those of the commands, with the same
gate, ledger, plan, record and audit.
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
