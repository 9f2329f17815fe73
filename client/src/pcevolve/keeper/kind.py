"""Find the module for one kind of private data: ``load_kind``.

The module is named with the kind's plural noun: ``images``, ``texts``. It is loaded at first use, because
it imports libraries that take seconds to load. All other differences between kinds are public, in the class
of the kind (``modality``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from pcevolve.keeper.private_data import SPLIT_SEED, RunData
from pcevolve.public.config.data_source import (
    CellsSource,
    DigitsSource,
    FolderSource,
    TermsSource,
    parse_source,
    require_kind,
)
from pcevolve.public.dialects import find_abilities
from pcevolve.public.modality import MODALITIES, Kind
from pcevolve.public.screen import ProgressCallback, no_progress

if TYPE_CHECKING:
    from pathlib import Path

    from pcevolve.keeper import images, texts
    from pcevolve.keeper.check import Checkup
    from pcevolve.keeper.evaluation.judge import Evaluator
    from pcevolve.keeper.evaluation.labelled import Labelled
    from pcevolve.keeper.private.dataset import PrivateDataset
    from pcevolve.public.config.config import RunConfig
    from pcevolve.public.plan import PublicPlan


def load_kind(kind: Kind) -> PrivateKind:
    """Return the module that reads and judges private data of a kind."""
    return cast("PrivateKind", import_module(f"pcevolve.keeper.{MODALITIES[kind].nouns.many}"))


def read_run(settings: RunConfig, show_progress: ProgressCallback = no_progress) -> RunData:
    """Read the data for a run.

    Raises:
        DataError: The data are unusable, or the classes do not contain about --shots units each.
        UsageError: Options contradict each other.
    """
    kind, source = find_abilities(settings.provider.dialect).makes, parse_source(settings.data.private)
    require_kind(source, kind, "--private")
    if isinstance(source, FolderSource):
        return load_kind(kind).read_used(settings, source.path, show_progress)
    return RunData(*_load_bundled(source, settings.data.shots), test_is_public=True)


def read_owned(given: str, plan: PublicPlan, option: str, began: RunConfig | None) -> PrivateDataset:
    """Read data that a finished run is measured on or compared with, under the data's own labels.

    Args:
        option: ``--private`` or ``--test``. For bundled data, ``--private`` means the shots, and ``--test``
            the other items.

    Raises:
        DataError: The data are unusable.
        UsageError: The data are of another kind.
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
    """A module that reads private data of one kind and measures a run's dataset with them."""

    def read_used(self, settings: RunConfig, path: Path, show_progress: ProgressCallback) -> RunData:
        """Read the owner's files for a run; errors as in ``read_run``."""
        ...

    def read_others(self, path: Path, plan: PublicPlan, began: RunConfig | None) -> PrivateDataset:
        """Read files that a finished run is measured on or compared with (``DataError`` if they are unusable)."""
        ...

    def check(
        self, path: Path, settings: RunConfig, show_progress: ProgressCallback, write_unit_map: Path | None
    ) -> Checkup:
        """Inspect the owner's files before a run; errors as in ``check.check_folder``."""
        ...

    def passes_over(self, path: Path) -> bool:
        """True for a file that is obviously no item of this kind, such as notes in a folder of images."""
        ...

    def make_independent(self, quick: bool = False) -> Evaluator:
        """Return the judge that uses no encoder and never voted.

        Args:
            quick: Whether a person waits for the result, so that training takes fewer steps.
        """
        ...

    def find_copied_words(self, dataset: Labelled, private: Labelled) -> dict[str, object]:
        """Find words of private data that a dataset repeats; return nothing for kinds without words."""
        ...


if TYPE_CHECKING:
    _HAVE_ALL_STEPS: tuple[PrivateKind, ...] = (images, texts)
