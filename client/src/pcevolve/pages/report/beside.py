"""The same classes out of several runs, for the page of a demonstration: what was gained, for people to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pcevolve.pages.report.sheets import Row, dataset_row
from pcevolve.pages.report.source import FinishedRun

SHOWN = 6
"""Of each class and run."""


@dataclass(frozen=True)
class Beside:
    """One class.

    Attributes:
        label: Of the class.
        rows: Some of each run's dataset, run by run.
    """

    label: str
    rows: tuple[Row, ...]


def beside(runs: Mapping[str, FinishedRun]) -> list[Beside]:
    """Some of each run's dataset, class by class; nothing where there is nothing to compare with.

    Args:
        runs: By what each is called; all of the same classes.

    Raises:
        TranscriptError: A stored answer is missing or was changed.
    """
    labels = next(iter(runs.values())).plan.labels if len(runs) > 1 else ()
    return [
        Beside(label, tuple(dataset_row(run, label, name, SHOWN) for name, run in runs.items()))
        for label in labels
    ]
