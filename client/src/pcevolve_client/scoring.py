"""Measures a finished run on held-out real data (composition root: private data meet results here).

Figures about data that are not public go to ``private/`` and to the owner's screen, never into the summary or
the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .egress.bodies import Bodies
from .egress.transcript import BODIES
from .evaluation.accuracy import Accuracy, AccuracyTest
from .evaluation.private_file import write_private
from .evolve import Population
from .pictures import picture
from .run import Outcome, save_summary


@dataclass(frozen=True, repr=False)
class Scores:
    """Accuracy of every population of a run, the initial one first."""

    by_iteration: tuple[Accuracy, ...]

    @classmethod
    def of(cls, outcome: Outcome, test: AccuracyTest, every: bool) -> Scores:
        """Score a run; all its populations, or the first and the last only."""
        every_set = [*outcome.evolved.populations[:-1], outcome.evolved.dataset]
        wanted = every_set if every else [outcome.evolved.populations[0], outcome.evolved.dataset]
        return cls(tuple(_accuracy(outcome, population, test) for population in wanted))

    def as_json(self) -> dict[str, Any]:
        """The initial (text-to-image only) and the final dataset."""
        return {"initial": self.by_iteration[0].to_json(), "final": self.by_iteration[-1].to_json()}


def scored(outcome: Outcome) -> dict[str, Any]:
    """The run's summary, with accuracies where there are test data."""
    if outcome.parts.test is None:
        return outcome.summary
    test = AccuracyTest.on(outcome.parts.test, outcome.parts.encoder)
    return record(outcome, Scores.of(outcome, test, every=False).as_json())


def record(outcome: Outcome, accuracy: dict[str, Any]) -> dict[str, Any]:
    """Keep accuracies where they belong and return the summary with them."""
    write_private(outcome.folder.private / "evaluation.json", {"accuracy": accuracy})
    summary = {**outcome.summary, "accuracy": accuracy}
    if outcome.parts.test_is_public:
        save_summary(outcome.folder, summary)
    return summary


def _accuracy(outcome: Outcome, population: Population, test: AccuracyTest) -> Accuracy:
    bodies = Bodies(outcome.folder.transcript / BODIES)
    images, targets = [], []
    for target, label in enumerate(test.labels):
        for candidate in population[label]:
            images.append(picture(bodies.file(candidate.digest)))
            targets.append(target)
    return test.of(images, targets)
