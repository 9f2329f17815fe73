"""What a keeper does with one kind of private data: ``load_kind`` returns the module that does it.

It is called by the kind's noun: ``images``, ``texts``. Each is loaded when it is first asked for, because it needs
libraries that take seconds. All else that sets kinds apart is public, and in the class of the kind (``modality``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from pcevolve.public.modality import MODALITIES, Kind

if TYPE_CHECKING:
    from pathlib import Path

    from pcevolve.keeper import images, texts
    from pcevolve.keeper.evaluation.judge import Evaluator
    from pcevolve.keeper.evaluation.labelled import Labelled
    from pcevolve.keeper.private.dataset import PrivateDataset
    from pcevolve.keeper.private_data import RunData
    from pcevolve.public.config.config import RunConfig
    from pcevolve.public.plan import PublicPlan
    from pcevolve.public.screen import ProgressCallback


def load_kind(kind: Kind) -> PrivateKind:
    """Return what reads and judges private data of a kind."""
    return cast("PrivateKind", import_module(f"pcevolve.keeper.{MODALITIES[kind].nouns.many}"))


class PrivateKind(Protocol):
    """A module that reads private data of one kind and judges what a run made by them."""

    def read_run(self, settings: RunConfig, told: ProgressCallback) -> RunData:
        """Read what a run is asked to use.

        Raises:
            DataError: It cannot be used, or the classes do not hold about --shots units each.
            UsageError: The options do not go together.
        """
        ...

    def read_owned(
        self, given: str, plan: PublicPlan, option: str, began: RunConfig | None
    ) -> PrivateDataset:
        """Read what a finished run is measured on or compared with, under whatever labels it has.

        Args:
            option: ``--private`` or ``--test``; of data that come with a library, it says whether the shots are meant
                or the others.

        Raises:
            DataError: It cannot be used.
            UsageError: It is of another kind.
        """
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
