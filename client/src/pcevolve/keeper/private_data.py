"""The data that a run reads: which of them are used, and whether their number is as declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.private.companions import find_companions
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.items import PrivateItems
from pcevolve.keeper.private.listing import Listing
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.config.config import RunConfig
from pcevolve.public.selectors import AUTO, find_method
from pcevolve.public.words import choose_labels

MOST_APART = 1.5
"""Largest accepted ratio of a class's number of units to ``--shots`` or to another class's number, or the reverse."""


@dataclass(frozen=True, repr=False)
class Shots:
    """The real number of units of each class, and the declared number.

    Attributes:
        held: Privacy units of each class, by label; private.
        declared: ``--shots``, K.
    """

    held: Mapping[str, int]
    declared: int

    @property
    def fewest(self) -> int:
        return min(self.held.values())

    @property
    def most(self) -> int:
        return max(self.held.values())

    @property
    def even(self) -> bool:
        """True if the classes have about the same number."""
        return self.most <= MOST_APART * self.fewest

    @property
    def fit(self) -> bool:
        """True if every class has about the declared number, and about as many as the others."""
        return (
            self.even
            and self.most <= MOST_APART * self.declared
            and self.declared <= MOST_APART * self.fewest
        )


SPLIT_SEED = 0
"""Public seed for splitting bundled data into stand-ins for private data, and held-out data."""


NOTHING_LEFT = (
    "--test rest: every {kind} of one class was drawn, so none is left: draw fewer, or leave it out"
)
"""The refusal if every unit of a class is drawn. It names no class, because that would reveal the class's size."""


@dataclass(frozen=True, repr=False)
class RunData:
    """The data that a run reads.

    Attributes:
        notes: Notes for the owner alone, each with a title.
        noise_factor: As in ``Scope``.
    """

    data: PrivateDataset
    test: PrivateDataset | None
    test_is_public: bool = False
    notes: tuple[tuple[str, str], ...] = ()
    noise_factor: float = 1.0


Held = TypeVar("Held", bound=PrivateItems)


def draw_units(settings: RunConfig, held: Held, counted: str) -> tuple[Held, Held | None]:
    """Return the units that a run uses and, if they are a subsample, all others (``DataError`` for too few)."""
    if settings.data.subsample is None:
        return held, None
    from pcevolve.keeper.private.offers import tell_drawable

    tell_drawable(settings, held.count_drawable(), counted)
    return held.draw(settings.data.subsample, settings.data.subsample_seed)


def find_test(settings: RunConfig, data: PrivateDataset) -> str | None:
    """Return where the run's test data are, or None (``UsageError`` if there is only one class)."""
    if settings.data.test is not None and len(data.labels) == 1:
        raise UsageError(
            "--test measures the accuracy of a classifier, which needs at least two classes: leave --test out"
        )
    return settings.data.test


def note_ids(ids: Iterable[str], kind: str) -> Iterator[str]:
    """Yield warnings about names that may be two spellings of one unit; nothing is merged."""
    from pcevolve.keeper.private.spelling import find_respelled, find_shortened  # rarely needed

    known = list(dict.fromkeys(ids))
    if pairs := find_respelled(known):
        named = count_and_name([f"{one!r} and {other!r}" for one, other in pairs])
        yield (
            f"some names of a {kind} differ only in case, leading zeros, accents, blanks or punctuation: "
            f"{named}. Each name counts as a separate {kind}. If two names mean the same {kind}, give "
            f"both the same name; otherwise the guarantee for that {kind} is weaker than stated"
        )
    if short := find_shortened(known):
        yield (
            f"some names of a {kind} look like long numbers that a spreadsheet shortened: "
            f"{count_and_name(short)}. Digits were lost, so different names may have become equal: format "
            "the column as text, and export the table again"
        )


def note_companions(listing: Listing) -> Iterator[str]:
    """Yield a warning about images that are named after another unit's image, such as masks and copies."""
    keys, names = listing.unit_keys, listing.names
    pairs = [(one, other) for one, other in find_companions(names) if keys[one] != keys[other]]
    if pairs:
        named = count_and_name([f"{names[one]} and {names[other]}" for one, other in pairs])
        yield (
            f"some images are named after others: {named}. Each image counts as a separate unit, so the "
            "guarantee covers each image, not the object that both show: leave out masks, previews and "
            "copies, or group such images with --unit-map"
        )


NAMED = 3
"""Largest number of files, names or pairs in one line."""


def count_and_name(names: Sequence[str]) -> str:
    if not names:
        return "none"
    more = ", ..." if len(names) > NAMED else ""
    return f"{len(names)}: {', '.join(names[:NAMED])}{more}"


def name_classes(data: PrivateDataset, words: Mapping[str, str] | None) -> PrivateDataset:
    """Rename classes to their words in prompts, if given (``UsageError`` for other classes)."""
    return (
        data
        if words is None
        else data.rename(dict(zip(words, choose_labels([*words.values()]), strict=True)))
    )


def leave_out_private(test: PrivateDataset, private: PrivateDataset, where: str) -> PrivateDataset:
    """Leave out held-out items that are also private data: they voted, and would flatter the selection.

    Only the owner's screen shows their number. They are left out and not refused: a refusal would depend on
    the subsample's seed, and an owner who then drew again would choose the seed by private data.

    Raises:
        DataError: No item of a class is left.
    """
    own = set(private.digests)
    kept = [place for place, digest in enumerate(test.digests) if digest not in own]
    if len(kept) == len(test):
        return test
    found = test.subset(kept)
    if len({*found.targets.tolist()}) < len(test.labels):
        raise DataError(f"{where}: all data of one class are also private data of the run: give other data")
    tell_on_screen(
        f"{where}: {len(test) - len(kept)} of {len(test)} are also private data of the run, and are left out"
    )
    return found


def trusts_shots(settings: RunConfig) -> bool:
    """True if a run divides by ``--shots``, because it measures private data and releases no counts."""
    method = settings.method.name
    return not settings.get("class_counts") and (method == AUTO or find_method(method).selector is not None)


def tell_on_screen(*lines: str) -> None:
    """Show the owner private facts at a terminal only, because a log might keep them; ``check`` shows them too."""
    screen = OwnerScreen()
    if screen.is_terminal:
        screen.print(*lines)


def require_shots(
    settings: RunConfig, counts: Mapping[str, int], unit: str, drawable: Callable[[], Mapping[str, int]]
) -> None:
    """Refuse classes that do not have about ``--shots`` units each, unless their counts are released.

    Only the owner's screen shows the counts. Controls, which measure nothing, may have any number.

    Args:
        counts: The real numbers, by label; private.
        drawable: Returns the number of units that a subsample could draw, by label; private.

    Raises:
        DataError: The numbers differ too much; nothing was spent or sent.
    """
    shots = Shots(counts, settings.data.shots)
    if shots.fit or not trusts_shots(settings):
        return
    from pcevolve.keeper.private.offers import refuse_shots  # needed only for a refusal

    refuse_shots(settings, shots, unit, drawable())
