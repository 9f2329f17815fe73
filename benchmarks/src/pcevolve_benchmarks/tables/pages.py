"""A table as Markdown with its pictures, bars or curves, and what all of it says as JSON."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # only writes
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pcevolve.public.durable import write_durably
from pcevolve.public.pages.report.charts import Chart, FigureOverSeeds, Series, choose_ticks
from pcevolve_benchmarks.svg import (
    COLOURS,
    LEGEND,
    draw_line,
    draw_svg,
    open_canvas,
    write_legend,
    write_text,
)
from pcevolve_benchmarks.tables.cells import Judged
from pcevolve_benchmarks.tables.table import Measure, Table

UNITS: dict[Measure, str] = {
    "fid": "Fréchet distance, smaller is better",
    "dimension": "dimensions",
    "votes": "votes, standard deviation",
    "loss": "cross-entropy on what was trained on, smaller is better",
    "to private": "distance from a synthetic image to the nearest private one, median",
    "to synthetic": "distance from a private image to the nearest synthetic one, median",
    "noise": "votes of a class: cast by its private images, and added or taken by noise, over all candidates",
}
"""Of what is no accuracy."""


def spell_figure(value: FigureOverSeeds | None, measure: Measure) -> str:
    """A figure as the table writes it: percent for accuracies, with its interval."""
    if value is None:
        return "–"
    scale = 1.0 if measure in UNITS else 100.0
    digits = 3 if measure == "loss" else 1
    half = "" if value.half is None else f" ± {scale * value.half:.{digits}f}"
    return f"{scale * value.mean:.{digits}f}{half}"


def unit(measure: Measure) -> str:
    """Return the unit that a measure counts in."""
    return UNITS.get(measure, "accuracy of all heads together, %" if measure == "ensemble" else "accuracy, %")


WIDTH, NAMES, FIGURES = 560.0, 180.0, 90.0
"""Of the picture, of the rows' names at its left and of the figures at its right; units of the view box."""
BAR, GAP, TOP = 14.0, 8.0, 26.0


def bars(title: str, judged: Judged) -> bytes:
    """Draw a table; every bar begins at zero, and what is not known has none."""
    group = BAR * len(judged.columns) + GAP
    below = TOP + group * len(judged.rows)
    root = open_canvas(WIDTH, below + LEGEND * (len(judged.columns) + 1), f"{title}, by {judged.judge}")
    write_text(root, NAMES, 14, f"{title}, by {judged.judge}", "start")
    scale = _Scale.of(judged)
    for at in scale.ticks:
        draw_line(root, (scale.x(at), TOP - 4), (scale.x(at), below), "#ddd")
        write_text(root, scale.x(at), below + 10, scale.spell(at), "middle", size=9)
    for place, row in enumerate(judged.rows):
        top = TOP + group * place
        write_text(root, NAMES - 6, top + group / 2, row, "end")
        for number, column in enumerate(judged.columns):
            if (value := judged.values.get((row, column))) is not None:
                _bar(root, scale, value, top + BAR * number, number)
    write_legend(root, NAMES, below + LEGEND, list(judged.columns))
    return bytes(ET.tostring(root, encoding="utf-8"))


class _Scale:
    """Where values lie, from left to right."""

    def __init__(self, judged: Judged, top: float) -> None:
        self.judged, self.ticks = judged, choose_ticks(top, 4)

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


def _bar(root: ET.Element, scale: _Scale, value: FigureOverSeeds, top: float, number: int) -> None:
    middle, end = top + BAR / 2, scale.x(value.mean)
    box = {"x": f"{NAMES:g}", "y": f"{top:g}", "width": f"{end - NAMES:g}", "height": f"{BAR - 2:g}"}
    ET.SubElement(root, "rect", {**box, "fill": COLOURS[number % len(COLOURS)]})
    if value.half is not None:
        ends = [(scale.x(value.mean + side * value.half), middle - 1) for side in (-1, 1)]
        draw_line(root, ends[0], ends[1], "#000")
    write_text(
        root, WIDTH - FIGURES + 6, middle + 3, spell_figure(value, scale.judged.measure), "start", size=9
    )


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


def markdown(
    table: Table,
    tables: Sequence[Judged],
    facts: Sequence[str],
    pictures: Sequence[str],
    below: Sequence[str] = (),
) -> str:
    """The page of a table: facts, figures, further lines, pictures."""
    lines = [f"# {table.title}", "", f"After {table.source}. {' '.join(facts)}", ""]
    for each in tables:
        lines += _by_judge(each)
    lines += below
    lines += [line for name in pictures for line in (f"![{Path(name).stem}]({name})", "")]
    return "\n".join(lines)


def _by_judge(judged: Judged) -> Iterator[str]:
    counted = unit(judged.measure)
    vote = " (**voted**: its encoder selected, which flatters what was selected)" if judged.voted else ""
    yield f"## Judge: {judged.judge}{vote}; {counted}"
    yield ""
    yield "| | " + " | ".join(map(_cell, judged.columns)) + " |"
    yield "|---|" + "---|" * len(judged.columns)
    for row in judged.rows:
        cells = [spell_figure(judged.values.get((row, column)), judged.measure) for column in judged.columns]
        yield f"| {_cell(row)} | " + " | ".join(cells) + " |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


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


def write_page(
    folder: Path,
    table: Table,
    tables: Sequence[Judged],
    facts: Sequence[str],
    more: Sequence[str],
    below: Sequence[str] = (),
) -> Path:
    """Write a table's page, and its picture: curves where it has an axis, else bars.

    Args:
        folder: Where.
        table: Which.
        tables: Its figures by judge.
        facts: Sentences about what was run.
        more: Names of further pictures in the folder.
        below: Further lines of the page.
    """
    pictures = list(more)
    for each in tables:
        name = f"{table.name}-{_plain(each.judge)}-{_plain(each.measure)}.svg"
        curves = table.axis and each.measure != "best"
        drawn = draw_svg(chart(table, each), each.columns) if curves else bars(table.title, each)
        write_durably(folder / name, drawn, 0o644)
        pictures.append(name)
    page = folder / f"{table.name}.md"
    write_durably(page, markdown(table, tables, facts, pictures, below).encode(), 0o644)
    return page
