"""What classifiers that were trained on a dataset say about held-out real images; every number here is private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, f1_score

from pcevolve.evaluation.accuracy import Accuracy

IntArray = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Verdict:
    """One classifier, trained several times; private.

    Attributes:
        accuracy: Over seeds of the head.
        macro_f1: Mean over the classes and the seeds.
        per_class: Accuracy on each class, mean over the seeds, by label.
        confusion: Counts ``[true][said]``, all seeds together.
    """

    accuracy: Accuracy
    macro_f1: float
    per_class: dict[str, float]
    confusion: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, said: Sequence[IntArray], truth: IntArray, labels: Sequence[str]) -> Verdict:
        """Summarise predictions.

        Args:
            said: int64 ``(images,)`` for each of three seeds or more.
            truth: int64 ``(images,)``.
            labels: Names of the classes; one without test images has no accuracy of its own.
        """
        classes = range(len(labels))
        confusion = sum(confusion_matrix(truth, each, labels=classes) for each in said)
        counts = np.asarray(confusion)
        own = {
            label: float(row[place] / row.sum())
            for place, (label, row) in enumerate(zip(labels, counts, strict=True))
            if row.sum()
        }
        f1 = [f1_score(truth, each, labels=sorted(set(truth.tolist())), average="macro") for each in said]
        accuracy = Accuracy.of([float(np.mean(each == truth)) for each in said])
        return cls(accuracy, float(np.mean(f1)), own, tuple(tuple(map(int, row)) for row in counts))

    def __repr__(self) -> str:
        return "Verdict"

    def to_json(self) -> dict[str, object]:
        """For a private file or the owner's screen."""
        return {
            "accuracy": self.accuracy.to_json(),
            "macro_f1": self.macro_f1,
            "per_class": self.per_class,
            "confusion": [list(row) for row in self.confusion],
        }
