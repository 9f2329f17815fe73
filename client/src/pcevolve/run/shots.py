"""Whether the classes hold about as many privacy units as ``--shots`` says; what a run stops for, and what mends it.

Released sums are divided by the public number of shots, so a class that holds far more or far fewer comes out wrong,
and nothing says so afterwards. The counts are private: they are told on the owner's screen, never in an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MOST = 1.5
"""How many times as many units as ``--shots`` says, or as another class, a class may hold, and as few likewise."""


@dataclass(frozen=True, repr=False)
class Shots:
    """What classes hold, and what was said that they hold.

    Attributes:
        held: Privacy units of each class, by label; private.
        said: ``--shots``, K.
        drawable: Units of each class that ``--subsample`` could draw, each counted for one class; private.
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
        """Whether the classes hold about the same number."""
        return self.most <= MOST * self.fewest

    @property
    def fit(self) -> bool:
        """Whether every class holds about what was said, and about what the others do."""
        return self.even and self.most <= MOST * self.said and self.said <= MOST * self.fewest

    @property
    def told(self) -> str:
        """How many units the classes hold, for the owner's screen."""
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
            offers.append("--method pe --class-counts: use all of them; noisy numbers by class are released")
        if 0 < drawn < self.most:
            offers.append(
                f"--subsample {drawn}: use {drawn} per class, drawn at random; --test rest uses the others"
            )
        return offers

    def _first(self, held: int) -> str:
        return next(label for label, number in self.held.items() if number == held)
