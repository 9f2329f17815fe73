"""Items of classes, each of a privacy unit, as folders and tables have them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Self, TypeVar

Value = TypeVar("Value")


class PrivateItems(ABC):
    """Items of classes, each of a privacy unit: how many units there are, and a draw of some.

    Attributes:
        targets: Class of each item, an index into the names of classes.
    """

    targets: Sequence[int]

    @property
    @abstractmethod
    def class_names(self) -> Sequence[str]:
        """Sorted class names; public by assumption."""

    @property
    @abstractmethod
    def unit_keys(self) -> Sequence[str]:
        """The name of each item's unit; of an item that is a unit by itself, what stays its own whatever else goes."""

    @abstractmethod
    def subset(self, places: Sequence[int]) -> Self:
        """The items at some places, in that order."""

    def count_units(self) -> dict[str, int]:
        """Return the number of privacy units of each class, by label."""
        counts = Counter(target for _, target in set(zip(self.unit_keys, self.targets, strict=True)))
        return {label: counts[target] for target, label in enumerate(self.class_names)}

    def count_drawable(self) -> dict[str, int]:
        """Return the number of privacy units of each class that a draw could take, none twice, by label."""
        from pcevolve.keeper.private.subsample import count_drawable  # for those who draw

        counts = count_drawable(self.unit_keys, self.targets)
        return {label: counts.get(target, 0) for target, label in enumerate(self.class_names)}

    def draw(self, count: int, seed: int) -> tuple[Self, Self]:
        """Draw units of each class.

        Args:
            count: Units of each class, K.
            seed: Secret, below 2**63.

        Returns:
            The items that were drawn, and all items of units that were not drawn; in order. Items of a drawn unit that
            are of another class are in neither, so that nobody is measured on who is used.

        Raises:
            DataError: A class has fewer units.
        """
        from pcevolve.keeper.private.subsample import draw_places  # for those who draw

        drawn, rest = draw_places(self.unit_keys, self.targets, count, seed)
        return self.subset(drawn), self.subset(rest)


def pick(values: tuple[Value, ...], places: Sequence[int]) -> tuple[Value, ...]:
    """Pick facts about items by place; nothing where nothing is known of any."""
    return tuple(values[place] for place in places) if values else ()
