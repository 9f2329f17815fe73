"""The client and its Python library, ``import pcevolve``. Private data stay here; only paid DP releases are sent.

The functions do the same work as the commands. They run the same processes and use the same gate, ledger and
record. ``import pcevolve`` loads no other module; each is imported at first use.

>>> import pcevolve
>>> pcevolve.plan("dp-means", epsilon=1, classes=4, shots=10)
<Plan: dp-means, epsilon 1 at delta 1e-05: useful: most selections follow the private data>
>>> pcevolve.verify(RUN).holds  # RUN: the folder of a finished run
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcevolve.app.interface import (
        AuditResult,
        BudgetPlan,
        CheckResult,
        ClassificationResult,
        ClassifiedFile,
        ComparisonResult,
        DatasetImage,
        EvaluationResult,
        PreviewImage,
        PreviewResult,
        Progress,
        Provider,
        Result,
        check,
        classify,
        compare,
        evaluate,
        evolve,
        export,
        load,
        pack,
        plan,
        preview,
        vary,
        verify,
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
    "CheckResult",
    "ClassificationResult",
    "ClassifiedFile",
    "ClientError",
    "ComparisonResult",
    "DataError",
    "DatasetImage",
    "EgressError",
    "EvaluationResult",
    "LedgerError",
    "ModelError",
    "PreviewImage",
    "PreviewResult",
    "Progress",
    "Provider",
    "ProviderError",
    "Result",
    "StoppedError",
    "TranscriptError",
    "UsageError",
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


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    """Import a public name at first use, and cache it in the module."""
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
    """List the public names, without the submodules."""
    return sorted(__all__)
