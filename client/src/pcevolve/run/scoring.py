"""Measures a finished run on held-out real data (composition root: private data meet results here).

Its figures go to ``private/`` and to the owner's screen, never into what may be shared: that is a function of the
transcript, and measured accuracy is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pcevolve.evaluation.accuracy import Accuracy, AccuracyTest
from pcevolve.evaluation.private_file import write_private
from pcevolve.evolve import Population
from pcevolve.modality.images.appearance import Appearance, appearance_in
from pcevolve.modality.media import medium
from pcevolve.run.execution import Outcome, save_result
from pcevolve.transcript import Bodies


@dataclass(frozen=True, repr=False)
class Scores:
    """Accuracy of every population of a run, the initial one first."""

    by_iteration: tuple[Accuracy, ...]

    @classmethod
    def of(cls, outcome: Outcome, test: AccuracyTest, every: bool) -> Scores:
        """Score a run: its text-to-image images as they came, its dataset, and all populations between if asked."""
        every_set = [*outcome.evolved.populations[:-1], outcome.evolved.dataset]
        wanted = every_set if every else [outcome.evolved.populations[0], outcome.evolved.dataset]
        first, *later = wanted
        found = appearance_in(outcome.evolved.receipts)
        scores = [_accuracy(outcome, first, test, None if later else found)]
        return cls((*scores, *(_accuracy(outcome, population, test, found) for population in later)))

    def as_json(self) -> dict[str, Any]:
        """The initial (text-to-image only) and the final dataset."""
        return {"initial": self.by_iteration[0].to_json(), "final": self.by_iteration[-1].to_json()}


def scored(outcome: Outcome) -> dict[str, Any]:
    """The run's summary, with accuracies where there are test data."""
    if outcome.components.test is None:
        return outcome.summary
    test = AccuracyTest.on(outcome.components.test, outcome.components.encoder)
    return keep_accuracy(outcome, Scores.of(outcome, test, every=False).as_json())


def keep_accuracy(outcome: Outcome, accuracy: dict[str, Any]) -> dict[str, Any]:
    """Keep accuracies where they belong and return the summary with them."""
    write_private(outcome.folder.evaluation, {"accuracy": accuracy})
    result = {**outcome.summary, "accuracy": accuracy}
    save_result(outcome.folder, result)
    return result


def _accuracy(
    outcome: Outcome, population: Population, test: AccuracyTest, wanted: Appearance | None
) -> Accuracy:
    bodies = Bodies(outcome.folder.bodies)
    decoded = medium(outcome.plan.modality.kind).decoded
    images, targets = [], []
    for target, label in enumerate(test.labels):
        for candidate in population[label]:
            images.append(decoded(bodies.file(candidate.digest), wanted))
            targets.append(target)
    return test.of(images, targets)
