"""Check that the classes hold about as many privacy units as ``--shots`` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MOST_APART = 1.5
"""Largest ratio of a class's number of units to ``--shots``, or to another class's, and of the inverse."""


@dataclass(frozen=True, repr=False)
class Shots:
    """The number of units of each class, and the declared number.

    Attributes:
        held: Privacy units of each class, by label; private.
        said: ``--shots``, K.
    """

    held: Mapping[str, int]
    said: int

    @property
    def fewest(self) -> int:
        return min(self.held.values())

    @property
    def most(self) -> int:
        return max(self.held.values())

    @property
    def even(self) -> bool:
        """True if the classes hold about the same number."""
        return self.most <= MOST_APART * self.fewest

    @property
    def fit(self) -> bool:
        """True if every class holds about the declared number, and about as many as the others."""
        return self.even and self.most <= MOST_APART * self.said and self.said <= MOST_APART * self.fewest
