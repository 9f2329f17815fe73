"""The functions and values of ``import pcevolve``: the command line's work, for scripts and notebooks.

Nothing is decided here. Options go to ``session`` as the command line's do, and what comes back is read from the run's
folder, so that a run made here and one made there differ in nothing: gate, ledger, plan, record and audit are the same.

- ``evolving``: ``evolve``, ``extend``, ``Provider``.
- ``result``: ``Result``, ``DatasetImage``, ``load``.
- ``questions``: ``plan`` and ``audit``, which spend nothing.
"""

from __future__ import annotations

from pcevolve.interface.evolving import Provider, evolve, extend
from pcevolve.interface.questions import AuditResult, audit, plan
from pcevolve.interface.result import DatasetImage, Result, load
from pcevolve.selectors.planner import BudgetPlan
from pcevolve.session.components import Generator
from pcevolve.session.progress import Progress

__all__ = [
    "AuditResult",
    "BudgetPlan",
    "DatasetImage",
    "Generator",
    "Progress",
    "Provider",
    "Result",
    "audit",
    "evolve",
    "extend",
    "load",
    "plan",
]
