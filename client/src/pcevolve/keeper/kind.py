"""What a keeper does with one kind of private data: ``load_kind`` returns the module that does it.

It is called by the kind's noun: ``images``, ``texts``. Each is loaded when it is first asked for, because it needs
libraries that take seconds. All else that sets kinds apart is public, and in the class of the kind (``modality``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from pcevolve.keeper.private_data import SPLIT_SEED, RunData
from pcevolve.public.dialects import find_abilities
from pcevolve.public.modality import MODALITIES, Kind
from pcevolve.public.screen import ProgressCallback, no_progress
from pcevolve.public.sources import (
    CellsSource,
    DigitsSource,
    FolderSource,
    TermsSource,
    parse_source,
    require_kind,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pcevolve.keeper import images, texts
    from pcevolve.keeper.evaluation.judge import Evaluator
    from pcevolve.keeper.evaluation.labelled import Labelled
    from pcevolve.keeper.private.dataset import PrivateDataset
    from pcevolve.public.config.config import RunConfig
    from pcevolve.public.plan import PublicPlan


def load_kind(kind: Kind) -> PrivateKind:
    """Return what reads and judges private data of a kind."""
    return cast("PrivateKind", import_module(f"pcevolve.keeper.{MODALITIES[kind].nouns.many}"))


def read_run(settings: RunConfig, told: ProgressCallback = no_progress) -> RunData:
    """Read what a run is asked to use.

    Raises:
        DataError: It cannot be used, or the classes do not hold about --shots units each.
        UsageError: The options do not go together.
    """
    kind, source = find_abilities(settings.provider.dialect).makes, parse_source(settings.data.private)
    require_kind(source, kind, "--private")
    if isinstance(source, FolderSource):
        return load_kind(kind).read_used(settings, source.path, told)
    return RunData(*_load_bundled(source, settings.data.shots), test_is_public=True)


def read_owned(given: str, plan: PublicPlan, option: str, began: RunConfig | None) -> PrivateDataset:
    """Read what a finished run is measured on or compared with, under whatever labels it has.

    Args:
        option: ``--private`` or ``--test``; of data that come with a library, it says whether the shots are meant or
            the others.

    Raises:
        DataError: It cannot be used.
        UsageError: It is of another kind.
    """
    source = parse_source(given)
    require_kind(source, plan.modality.kind, option)
    if isinstance(source, FolderSource):
        return load_kind(plan.modality.kind).read_others(source.path, plan, began)
    shots, rest = _load_bundled(source, plan.data.shots)
    return shots if option == "--private" else rest


def _load_bundled(
    source: DigitsSource | CellsSource | TermsSource, shots: int
) -> tuple[PrivateDataset, PrivateDataset]:
    from pcevolve.keeper.private import bundled  # scikit-learn takes seconds to load

    if isinstance(source, TermsSource):
        return bundled.load_terms(shots, source.names, SPLIT_SEED)
    return bundled.load_pictures(source, shots, SPLIT_SEED)


class PrivateKind(Protocol):
    """A module that reads private data of one kind and judges what a run made by them."""

    def read_used(self, settings: RunConfig, path: Path, told: ProgressCallback) -> RunData:
        """Read the owner's files that a run is asked to use; errors as ``read_run``."""
        ...

    def read_others(self, path: Path, plan: PublicPlan, began: RunConfig | None) -> PrivateDataset:
        """Read files that a finished run is measured on or compared with; ``DataError`` if they cannot be used."""
        ...

    def passes_over(self, path: Path) -> bool:
        """True for a file beside data of this kind that nobody means to be one of them."""
        ...

    def make_independent(self, quick: bool = False) -> Evaluator:
        """The judge that is no encoder and never voted; ``quick`` where somebody waits for it."""
        ...

    def find_copied_words(self, dataset: Labelled, private: Labelled) -> dict[str, object]:
        """Words of private data that a dataset repeats; nothing where there are no words."""
        ...


if TYPE_CHECKING:
    _HAVE_ALL_STEPS: tuple[PrivateKind, ...] = (images, texts)
