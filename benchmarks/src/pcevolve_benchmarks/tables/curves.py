"""A figure's curves: a line for each row, the columns from left to right."""

from __future__ import annotations

from pcevolve.pages.report.charts import Chart, Series
from pcevolve_benchmarks.tables.drawing import UNITS
from pcevolve_benchmarks.tables.results import Judged
from pcevolve_benchmarks.tables.table import Table


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
