"""The private and held-out data that a run reads, and whether there is about as much of it as was said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pcevolve.config.config import RunConfig
from pcevolve.errors import DataError
from pcevolve.private.dataset import PrivateDataset
from pcevolve.private.units import Shots
from pcevolve.public.words import choose_labels
from pcevolve.selectors import AUTO
from pcevolve.selectors import find_method as found
from pcevolve.session.progress import error_console

SPLIT_SEED = 0
"""The seed that splits a library's public data into those that play the private ones and the rest; public."""


NOTHING_LEFT = "--test rest: a class has no {kind} that was not drawn: draw fewer, or leave --test out"
"""The refusal where every unit of a class is drawn; it names no class, for that would tell the class's private size."""


@dataclass(frozen=True, repr=False)
class RunData:
    """The data that a run reads.

    Attributes:
        data: The private images.
        test: Held-out images, if there are any.
        test_is_public: Whether figures about them may be shown.
        skipped: Names of files that lie among the private images and are none.
    """

    data: PrivateDataset
    test: PrivateDataset | None
    test_is_public: bool = False
    skipped: tuple[str, ...] = ()


def in_words(data: PrivateDataset, words: Mapping[str, str] | None) -> PrivateDataset:
    """Call classes by what prompts say of them, in the order in which that was said; as they are where nothing is said.

    Raises:
        UsageError: The words are not for these classes.
    """
    return (
        data
        if words is None
        else data.rename(dict(zip(words, choose_labels([*words.values()]), strict=True)))
    )


def _looks(method: str) -> bool:
    """True if a method looks at private images; the controls do not."""
    return method == AUTO or found(method).selector is not None


def tell_drawable(settings: RunConfig, counts: Mapping[str, int], unit: str) -> None:
    """Tell the owner, on the screen alone, that classes have too few units for a draw, which is then refused.

    Args:
        settings: Say how many are to be drawn.
        counts: Units of each class that there are to draw from, by label; private.
        unit: What is counted.
    """
    shots = Shots(counts, settings.data.shots, min(counts.values()))
    if shots.fewest < settings.data.shots:
        instead = (
            f"--set data.subsample={shots.fewest} draws them all" if shots.fewest else "none can be drawn"
        )
        error_console().print(
            f"your classes have {shots.told} {unit} each to draw from, and data.subsample says {settings.data.shots}: "
            f"{instead}; a unit of several classes counts for one of them"
        )


def require_shots(
    settings: RunConfig, counts: Mapping[str, int], unit: str, drawable: Mapping[str, int]
) -> None:
    """Refuse classes that do not hold about what ``--shots`` says, unless their numbers are released.

    The owner is told the counts on the screen alone. Controls, which look at nothing, may have any.

    Args:
        settings: Say what classes hold.
        counts: What they do hold, by label; private.
        unit: What is counted.
        drawable: How many of them a draw could take, by label; private.

    Raises:
        DataError: They do not; nothing was spent and nothing was sent.
    """
    more = (
        f"; pcevolve check {settings.data.private} tells more" if Path(settings.data.private).exists() else ""
    )
    shots = Shots(counts, settings.data.shots, min(drawable.values()))
    if shots.fit or settings.get("class_counts") or not _looks(settings.method.name):
        return
    console = error_console()
    console.print(
        f"your classes hold {shots.told} {unit} each, and --shots says {settings.data.shots}; choose one of"
    )
    for offer in shots.offers:
        console.print(f"  {offer}")
    raise DataError(
        "the classes do not hold about as many as --shots says, so what is released about them would be wrong: "
        f"nothing was spent or sent{more}"
    )
