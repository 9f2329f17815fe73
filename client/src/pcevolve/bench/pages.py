"""A table as Markdown, its curves as SVG, and what both say as JSON."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # only writes
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pcevolve.bench.results import Judged, Value
from pcevolve.bench.table import Measure, Table
from pcevolve.durable import write_durably
from pcevolve.pages.report.charts import HEIGHT, LEFT, RIGHT, WIDTH, Chart, Series

COLOURS = ("#0b6e99", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be123c", "#334155", "#0f766e")
UNITS: dict[Measure, str] = {
    "fid": "Fréchet distance, smaller is better",
    "dimension": "dimensions",
    "votes": "votes, standard deviation",
}
"""Of what is no accuracy."""
LEGEND = 18.0  # units of a line of the legend
SVG = "http://www.w3.org/2000/svg"


def spelled(value: Value | None, measure: Measure) -> str:
    """A figure as the table writes it: percent for accuracies, with its interval."""
    if value is None:
        return "–"
    scale = 1.0 if measure in UNITS else 100.0
    half = "" if value.half is None else f" ± {scale * value.half:.1f}"
    return f"{scale * value.mean:.1f}{half}"


def markdown(table: Table, tables: Sequence[Judged], facts: Sequence[str], pictures: Sequence[str]) -> str:
    """The page of a table."""
    lines = [f"# {table.title}", "", f"After {table.source}. {' '.join(facts)}", ""]
    for each in tables:
        lines += _by_judge(each)
    lines += [line for name in pictures for line in (f"![{Path(name).stem}]({name})", "")]
    return "\n".join(lines)


def _by_judge(judged: Judged) -> Iterator[str]:
    unit = UNITS.get(judged.measure, "accuracy, %")
    vote = " (**voted**: its encoder selected, which flatters what was selected)" if judged.voted else ""
    yield f"## Judge: {judged.judge}{vote}; {unit}"
    yield ""
    yield "| | " + " | ".join(map(_cell, judged.columns)) + " |"
    yield "|---|" + "---|" * len(judged.columns)
    for row in judged.rows:
        cells = [spelled(judged.values.get((row, column)), judged.measure) for column in judged.columns]
        yield f"| {_cell(row)} | " + " | ".join(cells) + " |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


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
    height = HEIGHT + LEGEND * (len(shown.series) + 1)
    root = ET.Element(
        "svg", {"xmlns": SVG, "viewBox": f"0 0 {WIDTH:g} {height:g}", "font-family": "sans-serif"}
    )
    ET.SubElement(root, "title").text = shown.title
    ET.SubElement(root, "rect", {"width": f"{WIDTH:g}", "height": f"{height:g}", "fill": "#fff"})
    for y, text in shown.up:
        line = {
            "x1": f"{LEFT:g}",
            "x2": f"{WIDTH - RIGHT:g}",
            "y1": f"{y:g}",
            "y2": f"{y:g}",
            "stroke": "#ddd",
        }
        ET.SubElement(root, "line", line)
        _text(root, LEFT - 6, y + 4, text, "end")
    for place, name in enumerate(columns):
        _text(root, shown.x(place), HEIGHT - 14, name, "middle", size=9)
    for number, series in enumerate(shown.series):
        _line(root, shown, series, COLOURS[number % len(COLOURS)])
        _text(root, LEFT + 16, HEIGHT + LEGEND * (number + 0.7), series.name, "start")
        dot = {"cx": f"{LEFT + 6:g}", "cy": f"{HEIGHT + LEGEND * (number + 0.7) - 4:g}", "r": "4"}
        ET.SubElement(root, "circle", {**dot, "fill": COLOURS[number % len(COLOURS)]})
    return bytes(ET.tostring(root, encoding="utf-8"))


def _line(root: ET.Element, shown: Chart, series: Series, colour: str) -> None:
    ET.SubElement(root, "polyline", {"points": shown.path(series), "fill": "none", "stroke": colour})
    for mark in shown.marks(series):
        bar = {"x1": f"{mark.x:g}", "x2": f"{mark.x:g}", "y1": f"{mark.low:g}", "y2": f"{mark.high:g}"}
        ET.SubElement(root, "line", {**bar, "stroke": colour})
        dot = ET.SubElement(
            root, "circle", {"cx": f"{mark.x:g}", "cy": f"{mark.y:g}", "r": "3", "fill": colour}
        )
        ET.SubElement(dot, "title").text = mark.text


def _text(root: ET.Element, x: float, y: float, text: str, anchor: str, size: int = 11) -> None:
    place = {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor, "font-size": str(size)}
    ET.SubElement(root, "text", place).text = text


def _plain(text: str) -> str:
    """For the name of a file."""
    return "".join(c if c.isalnum() else "-" for c in text)


def as_json(tables: Sequence[Judged]) -> dict[str, Any]:
    """Every figure, by judge, row and column."""
    return {
        each.judge: {
            "voted": each.voted,
            "rows": {
                row: {
                    column: {"mean": value.mean, "half": value.half, "seeds": value.seeds}
                    for column in each.columns
                    if (value := each.values.get((row, column))) is not None
                }
                for row in each.rows
            },
        }
        for each in tables
    }


def written(
    folder: Path, table: Table, tables: Sequence[Judged], facts: Sequence[str], more: Sequence[str]
) -> Path:
    """Write a table's page, and its curves where it has an axis.

    Args:
        folder: Where.
        table: Which.
        tables: Its figures by judge.
        facts: Sentences about what was run.
        more: Names of further pictures in the folder.
    """
    pictures = list(more)
    for each in tables if table.axis else ():
        name = f"{table.name}-{_plain(each.judge)}-{_plain(each.measure)}.svg"
        write_durably(folder / name, svg(chart(table, each), each.columns), 0o644)
        pictures.append(name)
    page = folder / f"{table.name}.md"
    write_durably(page, markdown(table, tables, facts, pictures).encode(), 0o644)
    return page
