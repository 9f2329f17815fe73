"""What the pictures of tables share: colours, text, and what figures are called."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # only writes

from pcevolve.bench.results import Value
from pcevolve.bench.table import Measure

COLOURS = ("#0b6e99", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be123c", "#334155", "#0f766e")
SVG = "http://www.w3.org/2000/svg"
LEGEND = 18.0  # units of a line of the legend
UNITS: dict[Measure, str] = {
    "fid": "Fréchet distance, smaller is better",
    "dimension": "dimensions",
    "votes": "votes, standard deviation",
    "loss": "cross-entropy on what was trained on, smaller is better",
    "noise": "votes of a class: cast by its private images, and added or taken by noise, over all candidates",
}
"""Of what is no accuracy."""


def spelled(value: Value | None, measure: Measure) -> str:
    """A figure as the table writes it: percent for accuracies, with its interval."""
    if value is None:
        return "–"
    scale = 1.0 if measure in UNITS else 100.0
    digits = 3 if measure == "loss" else 1
    half = "" if value.half is None else f" ± {scale * value.half:.{digits}f}"
    return f"{scale * value.mean:.{digits}f}{half}"


def unit(measure: Measure) -> str:
    """What a measure counts."""
    return UNITS.get(measure, "accuracy, %")


def canvas(width: float, height: float, title: str) -> ET.Element:
    """A white picture with a title for those who do not see it."""
    box = {"viewBox": f"0 0 {width:g} {height:g}", "font-family": "sans-serif"}
    root = ET.Element("svg", {"xmlns": SVG, **box})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "rect", {"width": f"{width:g}", "height": f"{height:g}", "fill": "#fff"})
    return root


def line(root: ET.Element, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    """Draw a straight line between two places."""
    ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    ET.SubElement(root, "line", {**{name: f"{at:g}" for name, at in ends.items()}, "stroke": colour})


def text(root: ET.Element, x: float, y: float, said: str, anchor: str, size: int = 11) -> None:
    """Write something; it cannot be markup."""
    place = {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor, "font-size": str(size)}
    ET.SubElement(root, "text", place).text = said


def legend(root: ET.Element, x: float, top: float, names: list[str]) -> None:
    """Name the colours, a line each."""
    for number, name in enumerate(names):
        y = top + LEGEND * (number + 0.7)
        dot = {"cx": f"{x + 6:g}", "cy": f"{y - 4:g}", "r": "4", "fill": COLOURS[number % len(COLOURS)]}
        ET.SubElement(root, "circle", dot)
        text(root, x + 16, y, name, "start")
