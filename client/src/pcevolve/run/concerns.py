"""What a run does in one way with images and in another with texts, concern by concern.

Each concern is a module of ``images`` and one of ``texts``, with the same functions. They are loaded when they are
asked for, because some need libraries that take seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console

    from pcevolve.dp.mechanisms import FloatArray
    from pcevolve.evaluation.judge import Judge
    from pcevolve.methods.method import AppearanceMode, Method, Schedule
    from pcevolve.methods.rounds import Scope
    from pcevolve.privacy import Budget
    from pcevolve.private.dataset import PrivateDataset
    from pcevolve.private.telling import Told
    from pcevolve.providers.dialect import Advice, ModelSize
    from pcevolve.public.plan import PublicPlan
    from pcevolve.run.demonstration import Demonstration
    from pcevolve.run.folder import RunFolder
    from pcevolve.run.labelled import Labelled
    from pcevolve.run.run_data import RunData
    from pcevolve.run.settings import RunSettings
    from pcevolve.transcript import RunReader


class Checking(Protocol):
    """What speaks against a run before its data are read; loads nothing that takes long."""

    def require(self, settings: RunSettings) -> None:
        """Refuse paths that lead nowhere, and options that are about another kind.

        Raises:
            UsageError: An option or a path is not as it must be.
            DataError: There is no such folder, table or file.
        """
        ...


class Asking(Protocol):
    """From options to what a plan says of its kind; public facts alone."""

    def modality(
        self, settings: RunSettings, size: ModelSize, advice: Advice | None, asked: AbstractSet[str]
    ) -> dict[str, object]:
        """The plan's ``modality``.

        Args:
            settings: The options.
            size: Pixels of the API's images.
            advice: What the API recommends; an option of the user's comes before it.
            asked: What its dialect can ask for: of nothing else the plan says that it is.
        """
        ...

    def template(self, unlabelled: bool) -> str:
        """The prompt, unless the user says; ``unlabelled`` data have no label to be named in it."""
        ...

    def schedule(self, method: Method) -> Schedule:
        """Degrees of variation, unless the user says."""
        ...

    def appearance(self, method: Method, budget: Budget, scope: Scope, calibration: str) -> AppearanceMode:
        """What becomes of the look, unless the user says."""
        ...


class Reading(Protocol):
    """The owner's own data."""

    def of_run(self, settings: RunSettings, told: Told) -> RunData:
        """Read what a run is asked to use.

        Args:
            settings: What was asked for.
            told: Is told how much of it is read, where that takes time.

        Raises:
            DataError: It cannot be used, or the classes do not hold about --shots units each.
            UsageError: The options do not go together.
        """
        ...

    def of_owner(self, given: str, plan: PublicPlan, option: str, folder: RunFolder) -> PrivateDataset:
        """Read what a finished run is measured on or compared with, under whatever labels it has.

        Args:
            given: What ``--private`` or ``--test`` of a run takes.
            plan: The finished run's.
            option: ``--private`` or ``--test``; of data that come with a library, it says whether the shots are meant
                or the others.
            folder: The finished run's.

        Raises:
            DataError: It cannot be used.
            UsageError: It is of another kind.
        """
        ...


class Judging(Protocol):
    """Who judges a dataset.

    Attributes:
        STRANGER: Name of the judge that is no encoder, so it never voted and has no embeddings.
    """

    STRANGER: str

    def encoders(self) -> list[str]:
        """Encoders that are at hand, better first."""
        ...

    def usual(self) -> list[str]:
        """Names of judges where nobody names any."""
        ...

    def stranger(self) -> Judge:
        """The judge that is no encoder, trained as the PCEvolve paper trains."""
        ...

    def quick_stranger(self) -> Judge:
        """The same, where somebody waits for it."""
        ...


class Measuring(Protocol):
    """Figures about a dataset beside those of judges; private."""

    def of_sets(
        self, sets: Mapping[str, Labelled], test: Labelled, private: Labelled | None
    ) -> dict[str, object]:
        """Of the data themselves.

        Args:
            sets: ``dataset``; ``random``, a control's dataset, or else ``shuffled``, the run's own under shuffled
                labels; and where private data are trained on ``private`` and ``both``.
            test: Held-out data.
            private: What may have been copied; None if nothing is to be compared with it.
        """
        ...

    def of_embeddings(self, made: FloatArray, real: FloatArray) -> dict[str, object]:
        """Of an encoder's embeddings of a dataset and of held-out data, float64 ``(items, d)`` each."""
        ...


class Showing(Protocol):
    """What people see elsewhere than on a page."""

    def opening(self, record: RunReader, plan: PublicPlan, console: Console) -> None:
        """Show some of each class of the first that a provider made."""
        ...

    def require_drawable(self, name: str) -> None:
        """Refuse a run, by name, whose dataset is not for a sheet of pictures.

        Raises:
            UsageError: It is not.
        """
        ...


class Parts(Protocol):
    """All that is different between the kinds, each part loaded when it is first asked for.

    A kind's parts are written out, one import each, so that mypy holds every module against its concern.
    """

    @property
    def checking(self) -> Checking:
        """What speaks against a run."""
        ...

    @property
    def asking(self) -> Asking:
        """What a plan says."""
        ...

    @property
    def reading(self) -> Reading:
        """The owner's data."""
        ...

    @property
    def judging(self) -> Judging:
        """Who judges."""
        ...

    @property
    def measuring(self) -> Measuring:
        """What else is measured."""
        ...

    @property
    def showing(self) -> Showing:
        """What a terminal shows."""
        ...

    @property
    def demonstration(self) -> Demonstration:
        """What the demonstration shows."""
        ...
