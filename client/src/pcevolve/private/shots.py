"""Count the classes' privacy units, compare with what was said, and say what the owner can do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pcevolve.private.listing import Listing
from pcevolve.private.subsample import drawable
from pcevolve.private.units import UnitMap

MOST_APART = 1.5
"""How many times as many units as ``--shots`` says, or as another class, a class may hold, and as few likewise."""


@dataclass(frozen=True, repr=False)
class Shots:
    """The shots of each class, and what was said of them.

    Attributes:
        held: Privacy units of each class, by label; private.
        said: ``--shots``, K.
        drawable: Units of each class that ``data.subsample`` could draw, each counted for one class; private.
    """

    held: Mapping[str, int]
    said: int
    drawable: int

    def __repr__(self) -> str:
        return "Shots"

    @property
    def fewest(self) -> int:
        """Units of the smallest class."""
        return min(self.held.values())

    @property
    def most(self) -> int:
        """Units of the largest class."""
        return max(self.held.values())

    @property
    def even(self) -> bool:
        """True if the classes hold about the same number."""
        return self.most <= MOST_APART * self.fewest

    @property
    def fit(self) -> bool:
        """True if every class holds about what was said, and about what the others do."""
        return self.even and self.most <= MOST_APART * self.said and self.said <= MOST_APART * self.fewest

    @property
    def told(self) -> str:
        """The number of units in each class, for the owner's screen."""
        if self.fewest == self.most:
            return f"{self.most}"
        return f"{self.fewest} ({self._first(self.fewest)}) to {self.most} ({self._first(self.most)})"

    @property
    def offers(self) -> list[str]:
        """Options that would mend it, each with what it does; for the owner's screen."""
        drawn = min(self.said, self.drawable)
        offers = []
        if self.even:
            offers.append(
                f"--shots {(self.fewest + self.most) // 2}: use all of them; the number becomes public"
            )
        else:
            offers.append(
                "--method pe --set method.class_counts=true: use all of them; noisy numbers by class are released"
            )
        if 0 < drawn < self.most:
            offers.append(
                f"--set data.subsample={drawn}: use {drawn} per class, drawn at random; --test rest uses the others"
            )
        return offers

    def _first(self, held: int) -> str:
        return next(label for label, number in self.held.items() if number == held)


def unit_names(listing: Listing, units: UnitMap | None) -> list[str]:
    """Return the name of each image's unit."""
    return [name if units is None else units.of[name] for name in listing.names]


def units_held(listing: Listing, units: UnitMap | None) -> dict[str, int]:
    """Return the number of privacy units of each class of a listing, by label; private."""
    names = unit_names(listing, units)
    found: dict[str, set[str]] = {label: set() for label in listing.labels}
    for name, target in zip(names, listing.targets, strict=True):
        found[listing.labels[target]].add(name)
    return {label: len(each) for label, each in found.items()}


def units_to_draw(listing: Listing, units: UnitMap | None) -> dict[str, int]:
    """Return the number of privacy units of each class that a draw could take, by label; private."""
    counts = drawable(unit_names(listing, units), listing.targets)
    return {label: counts.get(target, 0) for target, label in enumerate(listing.labels)}
