"""A run that may begin, and refusals that those who begin it and those who plan it share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from pcevolve.config.config import RunConfig
from pcevolve.errors import LedgerError, UsageError
from pcevolve.privacy import Budget
from pcevolve.public.declared import spell
from pcevolve.session.folder import RunFolder


@dataclass(frozen=True)
class CheckedRun:
    """A run request that passed every check that needs no data."""

    settings: RunConfig
    folder: RunFolder
    resume: bool
    budget: Budget
    lifetime: Fraction | None
    key: str | None = field(default=None, repr=False)


def require_ledger(path: Path) -> None:
    """Refuse to go on with a run whose ledger is gone, and with it what the run has drawn (``LedgerError``)."""
    if not path.exists():
        raise LedgerError(
            f"the ledger of this run is gone from {path}: restore it and its key, or begin a new run; with "
            "another ledger this one would draw again what it has drawn"
        )


def refuse_options(settings: RunConfig, names: Iterable[str], why: str) -> None:
    """Refuse options that mean nothing to a run, if one of them is given (``UsageError``)."""
    for fault in find_given(settings, names, why):
        raise UsageError(fault)


def find_given(settings: RunConfig, names: Iterable[str], why: str) -> Iterator[str]:
    """Say of each option that is given what is wrong with it."""
    for name in names:
        given = settings.get(name)
        # A strength of 0 equals False, and is given.
        if given is not None and given is not False and given not in ((), "local"):
            yield f"{spell(name, RunConfig)}{why}"
