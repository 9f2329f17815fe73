"""Pictures of tables as SVG files of their own: curves over named columns, and what bars are drawn with.

SVG by hand, because it is the same to the last byte on every machine.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET  # only writes
from collections.abc import Sequence

from pcevolve.public.pages.report.charts import HEIGHT, LEFT, RIGHT, WIDTH, Chart, Series

COLOURS = ("#0b6e99", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be123c", "#334155", "#0f766e")
SVG = "http://www.w3.org/2000/svg"
LEGEND = 18.0  # units of a line of the legend


def draw_svg(shown: Chart, columns: Sequence[str]) -> bytes:
    """A chart as a file of its own; the columns' names stand under the axis."""
    root = open_canvas(WIDTH, HEIGHT + LEGEND * (len(shown.series) + 1), shown.title)
    for y, said in shown.up:
        draw_line(root, (LEFT, y), (WIDTH - RIGHT, y), "#ddd")
        write_text(root, LEFT - 6, y + 4, said, "end")
    for place, name in enumerate(columns):
        write_text(root, shown.x(place), HEIGHT - 14, name, "middle", size=9)
    for number, series in enumerate(shown.series):
        _curve(root, shown, series, columns, COLOURS[number % len(COLOURS)])
    write_legend(root, LEFT, HEIGHT, [series.name for series in shown.series])
    return bytes(ET.tostring(root, encoding="utf-8"))


def _curve(root: ET.Element, shown: Chart, series: Series, columns: Sequence[str], colour: str) -> None:
    ET.SubElement(root, "polyline", {"points": shown.path(series), "fill": "none", "stroke": colour})
    for (place, value), mark in zip(series.values, shown.marks(series), strict=True):
        draw_line(root, (mark.x, mark.low), (mark.x, mark.high), colour)
        dot = ET.SubElement(
            root, "circle", {"cx": f"{mark.x:g}", "cy": f"{mark.y:g}", "r": "3", "fill": colour}
        )
        ET.SubElement(dot, "title").text = f"{series.name}, {columns[place]}: {shown.spell(value)}"


def open_canvas(width: float, height: float, title: str) -> ET.Element:
    """A white picture with a title for those who do not see it."""
    box = {"viewBox": f"0 0 {width:g} {height:g}", "font-family": "sans-serif"}
    root = ET.Element("svg", {"xmlns": SVG, **box})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "rect", {"width": f"{width:g}", "height": f"{height:g}", "fill": "#fff"})
    return root


def draw_line(root: ET.Element, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    """Draw a straight line between two places."""
    ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    ET.SubElement(root, "line", {**{name: f"{at:g}" for name, at in ends.items()}, "stroke": colour})


def write_text(root: ET.Element, x: float, y: float, said: str, anchor: str, size: int = 11) -> None:
    """Write something; it cannot be markup."""
    place = {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor, "font-size": str(size)}
    ET.SubElement(root, "text", place).text = said


def write_legend(root: ET.Element, x: float, top: float, names: list[str]) -> None:
    """Name the colours, a line each."""
    for number, name in enumerate(names):
        y = top + LEGEND * (number + 0.7)
        dot = {"cx": f"{x + 6:g}", "cy": f"{y - 4:g}", "r": "4", "fill": COLOURS[number % len(COLOURS)]}
        ET.SubElement(root, "circle", dot)
        write_text(root, x + 16, y, name, "start")
