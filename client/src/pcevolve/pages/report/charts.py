"""Line charts as numbers: where lines, marks and labels go in an SVG. Pure; the template draws them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 400.0, 220.0  # units of the SVG's view box
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 12.0, 34.0  # margins


@dataclass(frozen=True)
class Series:
    """A line over the iterations.

    Attributes:
        name: For the legend.
        values: ``(iteration, value)`` pairs.
        errors: Half-lengths of error bars, one per value; empty for none.
    """

    name: str
    values: tuple[tuple[int, float], ...]
    errors: tuple[float, ...] = ()


@dataclass(frozen=True)
class Mark:
    """A point of a line, with its error bar's ends."""

    x: float
    y: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Chart:
    """One chart; every vertical axis starts at zero.

    Attributes:
        title: What is shown, with its unit.
        summary: The message in words, for those who do not see the lines.
        series: The lines.
        top: Value that the vertical axis has to reach.
        spell: How values are written.
        limit: Name and value of a horizontal line that must not be crossed.
    """

    title: str
    summary: str
    series: Sequence[Series]
    top: float
    spell: Callable[[float], str]
    limit: tuple[str, float] | None = None

    @property
    def last(self) -> int:
        """The last iteration of any of the lines."""
        return max((iteration for line in self.series for iteration, _ in line.values), default=0)

    @property
    def points(self) -> int:
        """How many the longest line has."""
        return max((len(line.values) for line in self.series), default=0)

    @property
    def across(self) -> list[tuple[float, str]]:
        """Ticks of the horizontal axis: place and label."""
        return [(self.x(each), str(int(each))) for each in ticks(self.last, 6) if each == int(each)]

    @property
    def up(self) -> list[tuple[float, str]]:
        """Ticks of the vertical axis: place and label."""
        return [(self.y(each), self.spell(each)) for each in ticks(self.top, 4)]

    @property
    def limit_y(self) -> float | None:
        """Height of the limit in SVG units from the top; None where there is no limit."""
        return None if self.limit is None else self.y(self.limit[1])

    def x(self, iteration: float) -> float:
        """Distance of an iteration from the left, in SVG units."""
        return round(LEFT + (WIDTH - LEFT - RIGHT) * iteration / max(1, self.last), 1)

    def y(self, value: float) -> float:
        """Distance of a value from the top, in SVG units."""
        room = HEIGHT - TOP - BOTTOM
        return round(HEIGHT - BOTTOM - room * value / (ticks(self.top, 4)[-1]), 1)

    def marks(self, line: Series) -> list[Mark]:
        """The points of a line, with the ends of their error bars and their labels."""
        errors = line.errors or (0.0,) * len(line.values)
        return [
            Mark(
                self.x(iteration),
                self.y(value),
                self.y(value - error),
                self.y(value + error),
                f"{line.name}, iteration {iteration}: {self.spell(value)}"
                + (f" ± {self.spell(error)}" if line.errors else ""),
            )
            for (iteration, value), error in zip(line.values, errors, strict=True)
        ]

    def path(self, line: Series) -> str:
        """The points of a line as the ``points`` of an SVG polyline."""
        return " ".join(f"{mark.x},{mark.y}" for mark in self.marks(line))


def ticks(top: float, wanted: int) -> list[float]:
    """Round numbers from zero to at least ``top``, about ``wanted`` steps."""
    rough = top / wanted
    if rough < sys.float_info.min:  # nothing, or too little to have a power of ten
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= rough * (1 - 1e-9))
    return [place * step for place in range(math.ceil(top / step - 1e-9) + 1)]
