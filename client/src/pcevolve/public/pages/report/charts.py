"""Charts of the report and of comparisons: curves over iterations or other settings, and secrets' protection.

The SVG is written by hand. For three lines, matplotlib writes a hundred paths in fixed colours, although the page
may be light or dark, and takes a second to load. altair draws with a script, which the page's policy forbids.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pcevolve.public.dp.attacks import most_success, secret_budget
from pcevolve.public.figures import format_chance, spell_size
from pcevolve.public.pages.reasons import TrafficTable
from pcevolve.public.parts import Secrecy
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.transcript.reader import FinishedRun

WIDTH, HEIGHT = 400.0, 220.0  # units of the SVG's view box
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 12.0, 34.0  # margins


LEVEL = 0.95
FEWEST = 3
"""Smallest number of seeds with an interval. The interval of two seeds would be wider than the axis."""


@dataclass(frozen=True)
class FigureOverSeeds:
    """A mean over seeds.

    Attributes:
        half: Half the width of the mean's confidence interval at ``LEVEL`` (Student's t); None with fewer than
            ``FEWEST`` seeds.
    """

    mean: float
    half: float | None
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> FigureOverSeeds:
        """Summarise one or more figures."""
        count, mean = len(values), float(np.mean(values))
        if count < FEWEST:
            return cls(mean, None, count)
        from scipy.special import stdtrit  # deferred: slow to load, and a report does not need it

        error = float(np.std(values, ddof=1)) / math.sqrt(count)
        return cls(mean, float(stdtrit(count - 1, (1 + LEVEL) / 2)) * error, count)


@dataclass(frozen=True)
class Series:
    """A line over the iterations, or over a chart's columns by their index.

    Attributes:
        errors: Half-lengths of error bars, one per value; empty for none.
    """

    name: str
    values: tuple[tuple[int, float], ...]
    errors: tuple[float, ...] = ()


@dataclass(frozen=True)
class Mark:
    """A point of a line, with the ends of its error bar."""

    x: float
    y: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Chart:
    """One chart; every vertical axis starts at zero.

    Attributes:
        summary: The chart's message in words, for readers who cannot see the lines.
        top: Value that the vertical axis has to reach.
        limit: Name and value of a horizontal line that must not be crossed.
        axis: Name of the horizontal axis; ``columns`` names its positions if they are not numbers.
    """

    title: str
    summary: str
    series: Sequence[Series]
    top: float
    spell: Callable[[float], str]
    limit: tuple[str, float] | None = None
    axis: str = "iteration"
    columns: Sequence[str] = ()

    @property
    def last(self) -> int:
        """The last iteration of any line."""
        return max((iteration for line in self.series for iteration, _ in line.values), default=0)

    @property
    def points(self) -> int:
        """Number of points of the longest line."""
        return max((len(line.values) for line in self.series), default=0)

    @property
    def across(self) -> list[tuple[float, str]]:
        """Ticks of the horizontal axis, as position and label."""
        if self.columns:
            return [(self.x(place), name) for place, name in enumerate(self.columns)]
        return [(self.x(each), str(int(each))) for each in choose_ticks(self.last, 6) if each == int(each)]

    @property
    def up(self) -> list[tuple[float, str]]:
        """Ticks of the vertical axis, as position and label."""
        return [(self.y(each), self.spell(each)) for each in choose_ticks(self.top, 4)]

    @property
    def limit_y(self) -> float | None:
        """Distance of the limit from the top, in SVG units; None without a limit."""
        return None if self.limit is None else self.y(self.limit[1])

    def x(self, iteration: float) -> float:
        """Return an iteration's distance from the left, in SVG units."""
        return round(LEFT + (WIDTH - LEFT - RIGHT) * iteration / max(1, self.last), 1)

    def y(self, value: float) -> float:
        """Return a value's distance from the top, in SVG units."""
        room = HEIGHT - TOP - BOTTOM
        return round(HEIGHT - BOTTOM - room * value / (choose_ticks(self.top, 4)[-1]), 1)

    def marks(self, line: Series) -> list[Mark]:
        """Return the points of a line, with the ends of their error bars and their labels."""
        errors = line.errors or (0.0,) * len(line.values)
        return [
            Mark(
                self.x(iteration),
                self.y(value),
                self.y(value - error),
                self.y(value + error),
                f"{line.name}, {self.axis} {self.columns[iteration] if self.columns else iteration}: "
                + self.spell(value)
                + (f" ± {self.spell(error)}" if error else ""),
            )
            for (iteration, value), error in zip(line.values, errors, strict=True)
        ]

    def path(self, line: Series) -> str:
        """Return a line as the ``points`` of an SVG polyline."""
        return " ".join(f"{mark.x},{mark.y}" for mark in self.marks(line))


def choose_ticks(top: float, wanted: int) -> list[float]:
    """Return round numbers from zero to at least ``top``, in about ``wanted`` steps."""
    rough = top / wanted
    if rough < sys.float_info.min:  # zero, or too small for a power of ten
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= rough * (1 - 1e-9))
    return [place * step for place in range(math.ceil(top / step - 1e-9) + 1)]


FEWEST_POINTS = 3
"""Smallest number of points in a line of a chart. Fewer points are easier to read in the table."""


@dataclass(frozen=True)
class AccuracyPoint:
    """Accuracy of a classifier trained on one population; shown only if the test data are public.

    Attributes:
        voted: True if this judge's encoder also selected the images. Its figure then flatters the selection.
    """

    name: str
    judge: str
    voted: bool
    iteration: int
    mean: float
    sem: float


def spell_percent(value: float) -> str:
    """Write a fraction as a percentage."""
    return f"{value * 100:.3g}%"


def sum_spent(run: FinishedRun) -> list[float]:
    """Return the ε spent by the end of each iteration, at the run's δ. The last includes selection of the dataset."""
    last = run.plan.method.iterations
    paid = [(min(each.iteration, last), event) for each in run.record.receipts for event in each.events]
    return [
        PrivacyLoss.of(run.plan, [event for t, event in paid if t <= end]).epsilon for end in range(last + 1)
    ]


def draw_curves(run: FinishedRun, traffic: TrafficTable, accuracy: Sequence[AccuracyPoint]) -> list[Chart]:
    """Draw all charts that have enough points. An INSECURE run has no chart of ε."""
    counted = [point for point in accuracy if not point.voted]
    charts = [_accuracy(counted)] if counted else []
    if run.plan.method.iterations:
        charts += [_epsilon(run)] if run.plan.secure else []
        charts += [_strength(run)] if run.plan.method.strengths else []
        charts += _bytes(traffic)
    return [each for each in charts if each.points >= FEWEST_POINTS]


def _accuracy(points: Sequence[AccuracyPoint]) -> Chart:
    lines = dict.fromkeys((point.name, point.judge) for point in points)
    series = []
    for name, judge in lines:
        of_line = (each for each in points if (each.name, each.judge) == (name, judge))
        own = sorted(of_line, key=lambda each: each.iteration)
        values = tuple((each.iteration, each.mean) for each in own)
        series.append(Series(f"{name}, by {judge}", values, tuple(each.sem for each in own)))
    ends = (
        f"{line.name} from {spell_percent(line.values[0][1])} to {spell_percent(line.values[-1][1])}"
        for line in series
    )
    title = "Accuracy on held-out real data, by judges that did not vote"
    return Chart(title, "; ".join(ends), series, 1.0, spell_percent)


def _epsilon(run: FinishedRun) -> Chart:
    values, budget = tuple(enumerate(sum_spent(run))), float(run.plan.budget.epsilon)
    spent = values[-1][1]
    title, top, shown = "Privacy loss ε, cumulative", max(budget, spent), "{:g}".format
    if run.plan.data.subsample is not None:  # the budget limits the loss of drawn units, not this line
        line = Series("ε spent, for one unit of the whole folder", values)
        return Chart(title, f"{spent:g} spent in the end", [line], top, shown)
    summary = f"{spent:g} spent in the end, budget {budget:g}"
    return Chart(title, summary, [Series("ε spent", values)], top, shown, ("budget", budget))


def _strength(run: FinishedRun) -> Chart:
    values = tuple(enumerate(run.plan.method.strengths, start=1))
    summary = f"from {values[0][1]:g} to {values[-1][1]:g}"
    title = "Strength of variation (0 copies the image, 1 ignores it)"
    return Chart(title, summary, [Series("strength", values)], 1.0, "{:g}".format)


def _bytes(traffic: TrafficTable) -> Iterator[Chart]:
    for name, counts in (("sent", traffic.sent), ("received", traffic.received)):
        line = Series(name, tuple((t, float(count)) for t, count in enumerate(counts)))
        yield Chart(
            f"Bytes {name}, cumulative",
            f"{spell_size(counts[-1])} in the end",
            [line],
            float(counts[-1]),
            spell_size,
        )


DECADES = 6
"""Number of decades of the axis, which begins at a guess that is right in one of a million cases."""
STEPS = 8
"""Number of points per decade of a curve."""


@dataclass(frozen=True)
class Protection:
    """The protection curve of a secret; both axes are logarithmic, in SVG units.

    Attributes:
        guess: The line of an attacker who did not see the run.
        after: The upper bound for an attacker who saw the run.
    """

    secrecy: Secrecy
    guess: str
    after: str
    across: tuple[tuple[float, int], ...]
    up: tuple[tuple[float, int], ...]
    rows: tuple[tuple[float, str], ...]
    mark: tuple[float, float]

    @classmethod
    def of(cls, secrecy: Secrecy) -> Protection:
        mu = secret_budget(secrecy.prior, secrecy.bound)
        powers = [-place / STEPS for place in range(DECADES * STEPS, 0, -1)]
        bounds = {power: most_success(mu, 10.0**power) for power in powers}
        whole = range(-DECADES, 1)
        return cls(
            secrecy=secrecy,
            guess=_path((10.0**power, 10.0**power) for power in powers),
            after=_path((10.0**power, bound) for power, bound in bounds.items()),
            across=tuple((_x(10.0**power), power) for power in whole),
            up=tuple((_y(10.0**power), power) for power in whole),
            rows=tuple((10.0**power, format_chance(most_success(mu, 10.0**power))) for power in whole[:-1]),
            mark=(_x(secrecy.prior), _y(secrecy.bound)),
        )


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_x(prior)},{_y(bound)}" for prior, bound in points)


def _x(prior: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * _share(prior), 1)


def _y(bound: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * _share(bound), 1)


def _share(probability: float) -> float:
    """Return a probability's position as a share of the axis; probabilities below the axis's range are at its start."""
    return max(0.0, 1 + math.log10(probability) / DECADES)
