"""Classified items, each in a privacy unit, from folders or tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Self, TypeVar

Value = TypeVar("Value")


class PrivateItems(ABC):
    """Classified items, each in a privacy unit; counts units and draws a subsample of them.

    Attributes:
        targets: Class of each item, an index into the class names.
    """

    targets: Sequence[int]

    @property
    @abstractmethod
    def class_names(self) -> Sequence[str]:
        """Sorted class names; public by assumption."""

    @property
    @abstractmethod
    def unit_keys(self) -> Sequence[str]:
        """A key for each item's unit: the unit's name.

        The key of an unnamed unit is made from its item alone, so that it does not change when other items are added
        or removed.
        """

    @abstractmethod
    def subset(self, places: Sequence[int]) -> Self:
        """Return the items at the given indices, in that order."""

    def count_units(self) -> dict[str, int]:
        """Return the number of privacy units of each class, by label."""
        counts = Counter(target for _, target in set(zip(self.unit_keys, self.targets, strict=True)))
        return {label: counts[target] for target, label in enumerate(self.class_names)}

    def count_drawable(self) -> dict[str, int]:
        """Return how many units a subsample could draw from each class, by label; a unit counts for one class."""
        from pcevolve.keeper.private.subsample import count_drawable  # needed only for a subsample

        counts = count_drawable(self.unit_keys, self.targets)
        return {label: counts.get(target, 0) for target, label in enumerate(self.class_names)}

    def draw(self, count: int, seed: int) -> tuple[Self, Self]:
        """Draw a subsample: ``count`` units of each class.

        Args:
            count: Units of each class, K.
            seed: Secret, below 2**63.

        Returns:
            The drawn items, and all items of units that were not drawn, both in order. If a drawn unit also
            has items of another class, these are in neither, so that no unit is both used and measured on.

        Raises:
            DataError: A class has fewer than ``count`` units.
        """
        from pcevolve.keeper.private.subsample import draw_places  # needed only for a subsample

        drawn, rest = draw_places(self.unit_keys, self.targets, count, seed)
        return self.subset(drawn), self.subset(rest)


def pick(values: tuple[Value, ...], places: Sequence[int]) -> tuple[Value, ...]:
    """Return the values at the given indices; empty if there are no values."""
    return tuple(values[place] for place in places) if values else ()
