"""Which part stops a set: the one whose ideal alone closes the most of the way to the ten shots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from benchmarks.oracles.cases import AS_IT_IS, PARTS, SHOTS_THEMSELVES, ideal
from benchmarks.release.data import interval
from benchmarks.rows import Row

CLOSE, HALF = 5.0, 0.5
"""Points of accuracy below which there is no gap to speak of, and the share of it that a part has to close."""


@dataclass(frozen=True)
class Stop:
    """Where one set stops.

    Attributes:
        gap: Points of accuracy between a dataset as it is and the ten shots.
        closed: By part, the share of the gap that its ideal alone closes, and half of its 95 % interval; empty where
            there is no gap to speak of.
        added: By part but the generator, points that its ideal adds to an ideal generator: mean and half of a 95 %
            interval of differences over the same draws.
    """

    gap: float
    closed: Mapping[str, tuple[float, float]]
    added: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Self:
        """Of all rows of one set."""
        found = group_by_draw(rows)
        gain = {case: values - found[AS_IT_IS] for case, values in found.items()}
        gaps = gain[SHOTS_THEMSELVES]
        gap = float(gaps.mean())
        closed = {part: share(gain[ideal(part).title], gaps) for part in PARTS if gap >= CLOSE}
        drawn = found[ideal("generator").title]
        added = {part: interval(found[ideal("generator", part).title] - drawn) for part in PARTS[1:]}
        return cls(gap, closed, added)

    @property
    def part(self) -> str:
        """Name the part that stops the set."""
        if not self.closed:
            return "nothing"
        best = max(self.closed, key=lambda part: self.closed[part][0])
        return best if self.closed[best][0] >= HALF else "no part alone"

    @property
    def then(self) -> str:
        """Name what helps the most once the generator is ideal, if anything surely does."""
        best = max(self.added, key=lambda part: self.added[part][0])
        mean, half = self.added[best]
        return f"{best}, +{mean:.1f} ± {half:.1f}" if mean > half else "none surely"


def share(parts: np.ndarray, wholes: np.ndarray) -> tuple[float, float]:
    """Mean part over mean whole, and half of its 95 % interval, to first order in what draws differ by.

    Args:
        parts: float64 ``(seeds,)``.
        wholes: float64 ``(seeds,)``, of the same draws; their mean is far from 0.
    """
    whole = float(wholes.mean())
    middle = float(parts.mean()) / whole
    _, half = interval(((parts - middle * wholes) / whole).tolist())
    return middle, half


def group_by_draw(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """By case, %, the mean over judges that did not vote for each seed, float64 ``(seeds,)``."""
    found: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        if not row["voted"]:
            found.setdefault(row["case"], {}).setdefault(row["seed"], []).append(100 * row["accuracy"])
    return {case: np.array([np.mean(seeds[seed]) for seed in sorted(seeds)]) for case, seeds in found.items()}
