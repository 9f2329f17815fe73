"""Differences between a run with images and one with texts: ``load_kind`` returns those of one.

``images`` and ``texts`` are two modules with the same functions, those of ``KindOfRun``. They are loaded when they are
first asked for, because they need libraries that take seconds.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Protocol

from pcevolve.public.modality import Kind

if TYPE_CHECKING:
    from pcevolve.keeper.evaluation.judge import Evaluator
    from pcevolve.keeper.evaluation.labelled import Labelled
    from pcevolve.keeper.private.dataset import PrivateDataset
    from pcevolve.keeper.private_data import RunData
    from pcevolve.public.config.config import RunConfig
    from pcevolve.public.dialects import Advice, ModelSize
    from pcevolve.public.plan import PublicPlan
    from pcevolve.public.privacy import Budget
    from pcevolve.public.screen import ProgressCallback
    from pcevolve.public.selectors.method import AppearanceMode, Method, Schedule
    from pcevolve.public.selectors.rounds import Scope


def load_kind(kind: Kind) -> KindOfRun:
    """Return what a run does with one kind of data."""
    if kind == "text":
        from pcevolve.keeper import texts

        return texts
    from pcevolve.keeper import images

    return images


class KindOfRun(Protocol):
    """The steps of a run that differ between images and texts; the judge ``STRANGER`` never voted."""

    STRANGER: str

    # Asking: from options and public facts to what a plan says.

    def choose_modality(
        self, settings: RunConfig, size: ModelSize, advice: Advice | None, asked: AbstractSet[str]
    ) -> dict[str, object]:
        """The plan's ``modality``."""
        ...

    def choose_template(self, unlabelled: bool) -> str:
        """The prompt, unless the user says; ``unlabelled`` data have no label to be named in it."""
        ...

    def choose_schedule(self, method: Method) -> Schedule:
        """Degrees of variation, unless the user says."""
        ...

    def choose_appearance(
        self, method: Method, budget: Budget, scope: Scope, calibration: str
    ) -> AppearanceMode:
        """Return how the look is treated unless the user says."""
        ...

    # Reading the owner's own data.

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

    # Judging and measuring a dataset; what comes of it is private.

    def list_encoders(self) -> list[str]:
        """Encoders that are at hand, better first."""
        ...

    def list_judges(self) -> list[str]:
        """Names of judges where nobody names any."""
        ...

    def make_stranger(self, quick: bool = False) -> Evaluator:
        """The judge that is no encoder; ``quick`` where somebody waits for it."""
        ...

    def find_copied_words(self, dataset: Labelled, private: Labelled) -> dict[str, object]:
        """Words of private data that a dataset repeats; nothing where there are no words."""
        ...

    def require_drawable(self, name: str) -> None:
        """Refuse a run, by name, whose dataset is not for a sheet of pictures (``UsageError``)."""
        ...
