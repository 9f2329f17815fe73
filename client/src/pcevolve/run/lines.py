"""Curves through finished runs that differ in one setting: accuracy over ε, or over the images per class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pcevolve.evaluation.intervals import Value
from pcevolve.pages.comparison import Curve
from pcevolve.pages.drawing import svg
from pcevolve.pages.report.charts import Chart, Series
from pcevolve.public.plan import PublicPlan

AXES = {"ε": "Accuracy over ε", "N": "Accuracy over N, images per class"}
Settings: TypeAlias = dict[str, Any]
"""Of a run, by the names under which they are shown."""
Line: TypeAlias = Mapping[float, list[float]]
"""Accuracies of runs of equal settings, by the value of the one that differs."""


@dataclass(frozen=True, repr=False)
class Point:
    """What one judge found of one run; private.

    Attributes:
        settings: Of the run.
        accuracy: In [0, 1].
    """

    settings: Settings
    accuracy: float


def settings_of(plan: PublicPlan, epsilon_spent: float | None) -> Settings:
    """What has to be equal in two runs for a line to go through both, but for the axis.

    Args:
        plan: Of a run.
        epsilon_spent: Of the run; nothing or zero for one that has no place over ε.
    """
    return {
        "method": plan.method,
        "ε": float(plan.budget.epsilon) if epsilon_spent else None,
        "N": plan.candidates,
        "K": plan.shots,
        "domain": plan.domain,
        "classes": ", ".join(plan.labels),
        "model": plan.model,
        "encoder": plan.encoder,
    }


def drawn(points: Sequence[Point], judge: str) -> list[Curve]:
    """A picture for each axis over which there is a line.

    Runs of equal settings are one point: their mean, from three on with its interval.

    Args:
        points: Of all runs.
        judge: Who found them.
    """
    found = ((title, _lines(points, axis)) for axis, title in AXES.items())
    return [Curve(title, _picture(f"{title}, by {judge}", lines)) for title, lines in found if lines]


def _lines(points: Sequence[Point], axis: str) -> dict[str, Line]:
    """Lines of at least two places, by their names."""
    lines: dict[tuple[tuple[str, Any], ...], dict[float, list[float]]] = {}
    for point in points:
        others = tuple((name, value) for name, value in point.settings.items() if name != axis)
        if (at := point.settings[axis]) is not None:
            lines.setdefault(others, {}).setdefault(at, []).append(point.accuracy)
    long = {others: line for others, line in lines.items() if len(line) > 1}
    return dict(zip(_names([dict(others) for others in long]), long.values(), strict=True))


def _names(lines: Sequence[Settings]) -> Iterator[str]:
    """Each line's method, and what else tells it from another."""
    for own in lines:
        telling = (
            name for name in own if name != "method" and any(own[name] != each[name] for each in lines)
        )
        parts = (f"no {name}" if own[name] is None else f"{name} = {own[name]}" for name in telling)
        yield ", ".join((own["method"], *parts))


def _picture(title: str, lines: Mapping[str, Line]) -> bytes:
    columns = sorted({at for line in lines.values() for at in line})
    series = [_series(name, line, columns) for name, line in lines.items()]
    return svg(Chart(title, title, series, 1.0, "{:.1%}".format), [f"{at:g}" for at in columns])


def _series(name: str, line: Line, columns: Sequence[float]) -> Series:
    values = {columns.index(at): Value.of(line[at]) for at in sorted(line)}
    means = tuple((place, value.mean) for place, value in values.items())
    return Series(name, means, tuple(value.half or 0.0 for value in values.values()))
