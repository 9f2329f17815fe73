"""A run request that may begin, and the refusals that running and planning share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from pcevolve.errors import LedgerError, UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options, spell
from pcevolve.public.config.options import spell_flag
from pcevolve.public.figures import parse_epsilon
from pcevolve.public.methods import choose_delta
from pcevolve.public.modality import MODALITIES, Kind
from pcevolve.public.privacy import Budget
from pcevolve.public.run.folder import RunFolder


@dataclass(frozen=True)
class CheckedRun:
    """A run request that passed every check that needs no data."""

    settings: RunConfig
    resume: bool = False
    key: str | None = field(default=None, repr=False)

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.settings.output.folder)

    @property
    def budget(self) -> Budget:
        """The run's exact ε, and the user's δ or, by default, the method's δ (``UsageError`` for an unknown method)."""
        asked, usual = self.settings.privacy, choose_delta(self.settings.method.name)
        return Budget(parse_epsilon(asked.epsilon), usual if asked.delta is None else asked.delta)

    @property
    def lifetime(self) -> Fraction | None:
        """Limit on the ε that all runs together spend on one privacy unit; None if only the ledger's cap applies."""
        given = self.settings.privacy.lifetime_epsilon
        path = "privacy.lifetime_epsilon"
        return None if given is None else parse_epsilon(given, "lifetime_epsilon", path)


def require_ledger(path: Path) -> None:
    """Refuse to resume a run whose ledger is missing, because the ledger records the run's draws (``LedgerError``)."""
    if not path.exists():
        raise LedgerError(
            f"the ledger of this run is gone from {path}: restore it and its key, or begin a new run; with "
            "another ledger this one would draw again what it has drawn"
        )


def refuse_options(settings: RunConfig, names: Iterable[str], why: str) -> None:
    """Refuse options that do not apply to a run if any of them is given (``UsageError``)."""
    for fault in find_given(settings, names, why):
        raise UsageError(fault)


def find_given(settings: RunConfig, names: Iterable[str], why: str) -> Iterator[str]:
    """Yield a message for each of these options that is given."""
    for name in names:
        given = settings.get(name)
        # A strength of 0 equals False, but it counts as given.
        if given is not None and given is not False and given not in ((), "local"):
            yield f"{spell(name, RunConfig)}{why}"


def find_foreign_options(settings: RunConfig, kind: Kind) -> Iterator[str]:
    """Yield a message for each given option that is meant for another kind of data."""
    made = MODALITIES[kind]
    for each in list_options(RunConfig):
        if each.setting.only not in ("", kind):
            about = MODALITIES[each.setting.only].nouns.many
            why = f" is about {about}, and this API {made.verb}s {made.nouns.many}: leave it out"
            yield from find_given(settings, [each.name], why)


def find_unused_namespace(settings: RunConfig) -> Iterator[str]:
    """Yield a message if a unit namespace is given without a unit map or unit column."""
    data = settings.data
    if data.unit_namespace is not None and data.unit_map is None and data.unit_column is None:
        yield (
            f"data.unit_namespace says whose names the units have: give {spell_flag('unit_map')} or data.unit_column, "
            "or leave it out"
        )
