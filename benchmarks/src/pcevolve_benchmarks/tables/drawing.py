"""What figures of tables are called, and how they are written."""

from __future__ import annotations

from pcevolve.evaluation.intervals import Value
from pcevolve_benchmarks.tables.table import Measure

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
    return UNITS.get(measure, "accuracy of all heads together, %" if measure == "ensemble" else "accuracy, %")
