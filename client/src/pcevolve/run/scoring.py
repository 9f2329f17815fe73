"""Measures a finished run on held-out real data (composition root: private data meet results here).

Its figures go to ``private/`` and to the owner's screen, never into what may be shared: that is a function of the
transcript, and measured accuracy is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pcevolve.evaluation.accuracy import Accuracy, AccuracyTest
from pcevolve.evaluation.private_file import write_private
from pcevolve.evolution import Population
from pcevolve.modality.images.appearance import Appearance, appearance_in
from pcevolve.modality.media import medium
from pcevolve.private.dataset import PrivateDataset
from pcevolve.run.execution import Outcome, save_result
from pcevolve.run.judges import quick_judges
from pcevolve.transcript import Bodies


@dataclass(frozen=True, repr=False)
class Scores:
    """What one judge says of the populations of a run, the initial one first.

    Attributes:
        judge: Its name.
        voted: Whether the run selected by it, which flatters what was selected.
        by_iteration: Accuracy of each population.
    """

    judge: str
    voted: bool
    by_iteration: tuple[Accuracy, ...]

    @classmethod
    def of(cls, outcome: Outcome, test: AccuracyTest, every: bool) -> Scores:
        """Score a run: its text-to-image images as they came, its dataset, and all populations between if asked."""
        every_set = [*outcome.evolved.populations[:-1], outcome.evolved.dataset]
        wanted = every_set if every else [outcome.evolved.populations[0], outcome.evolved.dataset]
        first, *later = wanted
        found = appearance_in(outcome.evolved.receipts)
        scores = [_accuracy(outcome, first, test, None if later else found)]
        return cls(
            test.judge.name,
            test.judge.voted,
            (*scores, *(_accuracy(outcome, population, test, found) for population in later)),
        )

    def as_json(self) -> dict[str, Any]:
        """The judge, and what it says of the initial (text-to-image only) and the final dataset."""
        initial, final = self.by_iteration[0].to_json(), self.by_iteration[-1].to_json()
        return {"judge": self.judge, "voted": self.voted, "initial": initial, "final": final}


def tests_of(outcome: Outcome, held_out: PrivateDataset) -> Iterator[AccuracyTest]:
    """Held-out data as each judge of a run sees them, one after the other: those that did not vote come first."""
    parts, plan = outcome.components, outcome.plan
    voted = parts.method.compares
    for judge in quick_judges(parts.encoder, voted, parts.settings.device, plan.modality.kind):
        yield AccuracyTest.on(held_out, judge)


def scored(outcome: Outcome) -> dict[str, Any]:
    """The run's summary, with each judge's accuracies where there are test data."""
    held_out = outcome.components.test
    if held_out is None:
        return outcome.summary
    found = [Scores.of(outcome, test, every=False).as_json() for test in tests_of(outcome, held_out)]
    return keep_accuracy(outcome, found)


def accuracy_of_dataset(outcome: Outcome, test: AccuracyTest) -> Accuracy:
    """What a test's judge says of a run's dataset alone."""
    look = appearance_in(outcome.evolved.receipts)
    return _accuracy(outcome, outcome.evolved.dataset, test, look)


def keep_accuracy(outcome: Outcome, accuracy: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Keep each judge's accuracies where they belong and return the summary with them."""
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
