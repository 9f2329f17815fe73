"""Whether the classes hold about as many privacy units as ``--shots`` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MOST_APART = 1.5
"""How many times as many units as ``--shots`` says, or as another class, a class may hold, and as few likewise."""


@dataclass(frozen=True, repr=False)
class Shots:
    """The shots of each class, and what was said of them.

    Attributes:
        held: Privacy units of each class, by label; private.
        said: ``--shots``, K.
    """

    held: Mapping[str, int]
    said: int

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
