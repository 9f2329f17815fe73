"""A demonstration at a glance: what the words alone gave, what the dataset is, and what either is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pcevolve.pages.report.charts import AccuracyPoint, percent
from pcevolve.pages.report.sheets import TILES_PER_ROW, Row, dataset_row, opening_row
from pcevolve.pages.report.source import FinishedRun

CONTROL, SHOTS = "random control", "private shots"
"""Names of points that are not the run's own."""


@dataclass(frozen=True)
class Glance:
    """Above and below.

    Attributes:
        before: The provider's first images, of all classes as they came.
        after: Some of the dataset, class by class.
        figures: What was trained on, and the accuracy that it gave.
        judge: Whose classifier it was.
        chance: Accuracy of a guess.
    """

    before: Row
    after: list[Row]
    figures: tuple[tuple[str, str], ...]
    judge: str
    chance: str

    @classmethod
    def of(cls, run: FinishedRun, accuracy: Sequence[AccuracyPoint]) -> Glance | None:
        """Of a run whose accuracy was measured on public images by a judge that did not vote; None of any other.

        Raises:
            TranscriptError: A stored answer is missing or was changed.
        """
        trusted = [point for point in accuracy if not point.voted]
        if not trusted or run.plan.modality.kind != "image":
            return None
        judge, labels = trusted[0].judge, run.plan.labels
        own = [point for point in trusted if point.judge == judge]
        return cls(
            opening_row(run, 2 * TILES_PER_ROW),
            [dataset_row(run, label, label, TILES_PER_ROW) for label in labels],
            tuple((said, percent(point.mean)) for said, point in _figures(run.plan.method, own)),
            judge,
            percent(1 / len(labels)),
        )


def _figures(method: str, points: Sequence[AccuracyPoint]) -> list[tuple[str, AccuracyPoint]]:
    """What each point is of, in words; of a name's points, the first and the last iteration's."""
    ordered = sorted(points, key=lambda each: each.iteration)
    of_run = [each for each in ordered if each.name == method]
    last = {each.name: each for each in ordered}
    found = [("the words alone", of_run[0])] if len(of_run) > 1 else []
    wanted = (("a random choice", CONTROL), ("this dataset", method), ("the private images", SHOTS))
    return found + [(said, last[name]) for said, name in wanted if name in last]
