"""Judges: classifiers that are trained on a dataset and predict held-out real data; every number is private.

Source: Ravuri & Vinyals 2019, "Classification Accuracy Score for Conditional Generative Models"; PCEvolve,
section 5 (a new head on a frozen encoder).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.evaluation.heads import Predict, Training, train_linear
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.encoders.singly import lone_workers, thread_count
from pcevolve.public.media import Item

Features: TypeAlias = NDArray[np.floating]
"""A judge's features, ``(items, ...)``: a row for each image or text."""
LabelledSet: TypeAlias = tuple[Sequence[Item | None], Sequence[int]]
"""Images or texts, and the class of each as an index into the labels."""
IntArray: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Evaluator:
    """Extracts features of items, and trains a classifier on the features.

    Attributes:
        name: Name of an encoder, or ``cnn`` or ``ngrams``, which use no encoder.
        voted: Whether this encoder selected the candidates; if so, its accuracy flatters the selection.
        look: Maps items to features, one row each; rows of unusable items are NaN.
        train: Maps a training set and a seed to a classifier.
    """

    name: str
    voted: bool
    look: Callable[[Sequence[Item | None]], Features]
    train: Callable[[Training, int], Predict]

    def prepare(self, features: Features, targets: NDArray[np.int64], labels: Sequence[str]) -> Training:
        """Return the usable training data of a set (``DataError`` if a class has none)."""
        usable = find_usable(features)
        training = Training(features[usable], targets[usable], len(labels))
        if missing := set(range(len(labels))) - set(training.targets.tolist()):
            raise DataError(f"judge {self.name} cannot use any item of class {labels[min(missing)]!r}")
        return training

    def predictions(
        self,
        sets: Sequence[Sequence[Training]],
        features: Features,
        show_done: Callable[[], None] = lambda: None,
    ) -> list[list[NDArray[np.int64]]]:
        """Train classifiers on several sets in parallel; return their predictions for other features, by set.

        Args:
            sets: For each set, the training data of the classifiers with seeds 0, 1, 2, ...
            show_done: Called when a classifier is done.
        """

        def ask(on: Training, seed: int) -> NDArray[np.int64]:
            return self.train(on, seed)(features)

        # All sets in one pool: three seeds alone would leave one of two cores idle.
        with lone_workers(thread_count()) as workers:
            try:
                due = [[workers.submit(ask, on, seed) for seed, on in enumerate(of_set)] for of_set in sets]
                predictions: list[list[NDArray[np.int64]]] = []
                for of_set in due:
                    predictions.append([])
                    for one in of_set:
                        predictions[-1].append(one.result())
                        show_done()
                return predictions
            except BaseException:  # after Ctrl-C the other trainings would take a minute to end
                for on in chain.from_iterable(sets):
                    on.stopping.set()
                raise

    def predict_and_check(
        self,
        sets: Sequence[Sequence[Training]],
        features: Features,
        checked: int | None,
        show_done: Callable[[], None] = lambda: None,
    ) -> tuple[list[list[NDArray[np.int64]]], float | None]:
        """Return ``predictions``, and how well the classifiers of one set learnt their training data.

        Args:
            checked: Index of that set; None for none.

        Returns:
            The predictions, and the checked set's accuracy on its own training data, for the worst seed.
        """
        if checked is None:
            return self.predictions(sets, features, show_done), None
        own = sets[checked][0]
        predicted = self.predictions(sets, np.concatenate([features, own.features]), show_done)
        tested = len(features)
        learnt = min(float(np.mean(each[tested:] == own.targets)) for each in predicted[checked])
        return [[each[:tested] for each in of_set] for of_set in predicted], learnt


def find_usable(features: Features) -> NDArray[np.bool_]:
    """Mark the finite rows of features, bool ``(items,)``."""
    return np.asarray(np.isfinite(features.reshape(len(features), -1)).all(axis=1))


SEEDS = 3
"""Number of classifiers that are trained on each set; fewer give no useful standard error."""
DRAWS = 5
"""Number of times that a control is resampled."""


def redraw(training: Training, seed: int) -> Training:
    """Resample each class of a training set with replacement, to estimate the spread between such sets."""
    random = np.random.default_rng(seed)
    places = [np.flatnonzero(training.targets == target) for target in range(training.classes)]
    kept = np.concatenate([random.choice(each, len(each)) for each in places])
    return replace(training, features=training.features[kept], targets=training.targets[kept])


def redraw_all(trainings: Mapping[str, Training], names: Iterable[str]) -> dict[str, list[Training]]:
    """Resample the named training sets that exist, ``DRAWS`` times each."""
    return {
        name: [redraw(trainings[name], seed) for seed in range(DRAWS)] for name in names if name in trainings
    }


def find_redrawing(judges: Sequence[Evaluator]) -> Evaluator:
    """Return the judge that measures how a control varies between draws: a linear head, which trains quickly.

    This judge may have voted: no vote selected the control, so the judge's accuracy does not flatter the control.
    """
    return next((each for each in judges if each.train is train_linear), judges[0])


@dataclass(frozen=True, repr=False)
class Accuracy:
    """Top-1 accuracy in 0..1 over several seeds of the head; private.

    Attributes:
        mean: Mean over ``seeds``.
        sem: Standard error of that mean. It covers the head's initialisation, the order of batches, and, if
            labels are shuffled, the shuffling. It does not cover the spread between runs of the evolution,
            or between draws of the shots.
        seeds: One accuracy per seed.
    """

    mean: float
    sem: float
    seeds: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Accuracy:
        """Summarise at least three accuracies."""
        if len(values) < SEEDS:
            raise UsageError(f"an accuracy over {len(values)} seeds was requested: use {SEEDS} seeds or more")
        spread = float(np.std(values, ddof=1))
        return cls(float(np.mean(values)), spread / len(values) ** 0.5, tuple(map(float, values)))

    def to_json(self) -> dict[str, object]:
        """Return ``mean``, ``sem`` and ``seeds`` for a private file or the owner's screen."""
        return {"mean": self.mean, "sem": self.sem, "seeds": list(self.seeds)}


@dataclass(frozen=True, eq=False, repr=False)
class AccuracyTest:
    """Held-out real data as one judge's features, computed once and used for several synthetic sets.

    Attributes:
        features: The judge's features of the held-out images, ``(images, ...)``.
        targets: int64 ``(images,)``.
    """

    labels: tuple[str, ...]
    features: Features
    targets: NDArray[np.int64]
    judge: Evaluator

    @classmethod
    def on(cls, held_out: PrivateDataset, judge: Evaluator) -> AccuracyTest:
        """Prepare the test: compute a judge's features of held-out images."""
        return cls(held_out.labels, judge.look(held_out.items), held_out.targets, judge)

    def prepare(self, one: LabelledSet) -> Training:
        """Compute the judge's features of a labelled set (``DataError`` if a class has no usable item)."""
        images, targets = one
        return self.judge.prepare(self.judge.look(images), np.asarray(targets, dtype=np.int64), self.labels)


@dataclass(frozen=True, repr=False)
class EvaluatorAccuracy:
    """Accuracy of one judge's classifiers, which differ by seed; private.

    Attributes:
        per_class: Accuracy on each class, mean over the seeds, by label.
        confusion: Counts ``[true][predicted]``, summed over seeds.
    """

    accuracy: Accuracy
    macro_f1: float
    per_class: dict[str, float]
    confusion: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, predictions: Sequence[IntArray], truth: IntArray, labels: Sequence[str]) -> EvaluatorAccuracy:
        """Summarise predictions.

        Args:
            predictions: int64 ``(images,)`` for each of three seeds or more.
            labels: Names of the classes; a class without test images gets no accuracy.
        """
        # Imported here: scikit-learn's metrics load pandas and pyarrow, and a run that only scores does not
        # need them.
        from sklearn.metrics import confusion_matrix, f1_score

        classes = range(len(labels))
        confusion = sum(confusion_matrix(truth, each, labels=classes) for each in predictions)
        counts = np.asarray(confusion)
        own = {
            label: float(row[place] / row.sum())
            for place, (label, row) in enumerate(zip(labels, counts, strict=True))
            if row.sum()
        }
        f1 = [
            f1_score(truth, each, labels=sorted(set(truth.tolist())), average="macro") for each in predictions
        ]
        accuracy = Accuracy.of([float(np.mean(each == truth)) for each in predictions])
        return cls(accuracy, float(np.mean(f1)), own, tuple(tuple(map(int, row)) for row in counts))

    def to_json(self) -> dict[str, object]:
        """Return values for a private file or the owner's screen."""
        return {
            "accuracy": self.accuracy.to_json(),
            "macro_f1": self.macro_f1,
            "per_class": self.per_class,
            "confusion": [list(row) for row in self.confusion],
        }
