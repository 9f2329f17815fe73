"""A table without an axis as bars: a group for each row, a bar for each column, its interval on it."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # only writes

from pcevolve.evaluation.intervals import Value
from pcevolve.pages.drawing import COLOURS, LEGEND, canvas, legend, line, text
from pcevolve.pages.report.charts import ticks
from pcevolve_benchmarks.tables.drawing import UNITS, spelled
from pcevolve_benchmarks.tables.results import Judged

WIDTH, NAMES, FIGURES = 560.0, 180.0, 90.0
"""Of the picture, of the rows' names at its left and of the figures at its right; units of the view box."""
BAR, GAP, TOP = 14.0, 8.0, 26.0


def bars(title: str, judged: Judged) -> bytes:
    """Draw a table; every bar begins at zero, and what is not known has none."""
    group = BAR * len(judged.columns) + GAP
    below = TOP + group * len(judged.rows)
    root = canvas(WIDTH, below + LEGEND * (len(judged.columns) + 1), f"{title}, by {judged.judge}")
    text(root, NAMES, 14, f"{title}, by {judged.judge}", "start")
    scale = _Scale.of(judged)
    for at in scale.ticks:
        line(root, (scale.x(at), TOP - 4), (scale.x(at), below), "#ddd")
        text(root, scale.x(at), below + 10, scale.spell(at), "middle", size=9)
    for place, row in enumerate(judged.rows):
        top = TOP + group * place
        text(root, NAMES - 6, top + group / 2, row, "end")
        for number, column in enumerate(judged.columns):
            if (value := judged.values.get((row, column))) is not None:
                _bar(root, scale, value, top + BAR * number, number)
    legend(root, NAMES, below + LEGEND, list(judged.columns))
    return bytes(ET.tostring(root, encoding="utf-8"))


class _Scale:
    """Where values lie, from left to right."""

    def __init__(self, judged: Judged, top: float) -> None:
        self.judged, self.ticks = judged, ticks(top, 4)

    @classmethod
    def of(cls, judged: Judged) -> _Scale:
        """Up to one for accuracies, else up to the largest figure."""
        largest = max((abs(each.mean) for each in judged.values.values()), default=1.0)
        return cls(judged, largest if judged.measure in UNITS else 1.0)

    def x(self, value: float) -> float:
        """Distance from the left; what lies outside the axis stays at its end."""
        share = min(max(value / self.ticks[-1], 0.0), 1.0)
        return round(NAMES + (WIDTH - NAMES - FIGURES) * share, 1)

    def spell(self, value: float) -> str:
        return f"{value:g}" if self.judged.measure in UNITS else f"{value:.0%}"


def _bar(root: ET.Element, scale: _Scale, value: Value, top: float, number: int) -> None:
    middle, end = top + BAR / 2, scale.x(value.mean)
    box = {"x": f"{NAMES:g}", "y": f"{top:g}", "width": f"{end - NAMES:g}", "height": f"{BAR - 2:g}"}
    ET.SubElement(root, "rect", {**box, "fill": COLOURS[number % len(COLOURS)]})
    if value.half is not None:
        ends = [(scale.x(value.mean + side * value.half), middle - 1) for side in (-1, 1)]
        line(root, ends[0], ends[1], "#000")
    text(root, WIDTH - FIGURES + 6, middle + 3, spelled(value, scale.judged.measure), "start", size=9)
