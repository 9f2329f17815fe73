"""The client: private data stay here; only paid-for DP releases leave. Also the library: ``import pcevolve``.

``evolve``, ``vary``, ``plan``, ``audit`` and ``load`` do what the command line does, through the same gate, ledger
and record. What they need is imported when it is first asked for: ``import pcevolve`` alone loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcevolve.app.interface import (
        AuditResult,
        BudgetPlan,
        DatasetImage,
        Progress,
        Provider,
        Result,
        audit,
        evolve,
        load,
        pack,
        plan,
        vary,
    )
    from pcevolve.errors import (
        BudgetError,
        ClientError,
        DataError,
        EgressError,
        LedgerError,
        ModelError,
        ProviderError,
        StoppedError,
        TranscriptError,
        UsageError,
    )

    __version__: str

__all__ = [
    "AuditResult",
    "BudgetError",
    "BudgetPlan",
    "ClientError",
    "DataError",
    "DatasetImage",
    "EgressError",
    "LedgerError",
    "ModelError",
    "Progress",
    "Provider",
    "ProviderError",
    "Result",
    "StoppedError",
    "TranscriptError",
    "UsageError",
    "audit",
    "evolve",
    "load",
    "pack",
    "plan",
    "vary",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    """Import what is asked for; it stays."""
    if name == "__version__":
        from importlib.metadata import version

        found: Any = version("pcevolve")
    elif name in __all__:
        where = "pcevolve.errors" if name.endswith("Error") else "pcevolve.app.interface"
        found = getattr(import_module(where), name)
    else:
        raise AttributeError(f"module 'pcevolve' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the names that can be imported."""
    return sorted({*globals(), *__all__, "__version__"})
