"""A figure's curves as SVG: a line for each row, the columns from left to right."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # only writes
from collections.abc import Sequence

from pcevolve.bench.drawing import COLOURS, LEGEND, UNITS, canvas, legend, line, text
from pcevolve.bench.results import Judged
from pcevolve.bench.table import Table
from pcevolve.pages.report.charts import HEIGHT, LEFT, RIGHT, WIDTH, Chart, Series


def chart(table: Table, judged: Judged) -> Chart:
    """The lines of a figure: a row each, the columns in their order from left to right."""
    other = judged.measure in UNITS
    top = max((each.mean for each in judged.values.values()), default=1.0) if other else 1.0
    spell = "{:g}".format if other else "{:.0%}".format
    series = [each for each in (_series(judged, row) for row in judged.rows) if each.values]
    return Chart(f"{table.title}, by {judged.judge}", table.title, series, top, spell)


def _series(judged: Judged, row: str) -> Series:
    known = [
        (place, judged.values[row, column])
        for place, column in enumerate(judged.columns)
        if (row, column) in judged.values
    ]
    values = tuple((place, value.mean) for place, value in known)
    return Series(row, values, tuple(value.half or 0.0 for _, value in known))


def svg(shown: Chart, columns: Sequence[str]) -> bytes:
    """A chart as a file of its own; the columns' names stand under the axis."""
    root = canvas(WIDTH, HEIGHT + LEGEND * (len(shown.series) + 1), shown.title)
    for y, said in shown.up:
        line(root, (LEFT, y), (WIDTH - RIGHT, y), "#ddd")
        text(root, LEFT - 6, y + 4, said, "end")
    for place, name in enumerate(columns):
        text(root, shown.x(place), HEIGHT - 14, name, "middle", size=9)
    for number, series in enumerate(shown.series):
        _curve(root, shown, series, COLOURS[number % len(COLOURS)])
    legend(root, LEFT, HEIGHT, [series.name for series in shown.series])
    return bytes(ET.tostring(root, encoding="utf-8"))


def _curve(root: ET.Element, shown: Chart, series: Series, colour: str) -> None:
    ET.SubElement(root, "polyline", {"points": shown.path(series), "fill": "none", "stroke": colour})
    for mark in shown.marks(series):
        line(root, (mark.x, mark.low), (mark.x, mark.high), colour)
        dot = ET.SubElement(
            root, "circle", {"cx": f"{mark.x:g}", "cy": f"{mark.y:g}", "r": "3", "fill": colour}
        )
        ET.SubElement(dot, "title").text = mark.text
