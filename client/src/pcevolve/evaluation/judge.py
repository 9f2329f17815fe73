"""A judge of a dataset: it sees images or texts as features, and trains classifiers on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcevolve.evaluation.heads import Predict, Training
from pcevolve.evaluation.protocol import untrained_head
from pcevolve.modality.medium import Item

Features: TypeAlias = NDArray[np.floating]
"""What a judge sees, ``(items, ...)``: a row for each image or text."""


@dataclass(frozen=True)
class Judge:
    """Sees images as features, and trains a classifier on them.

    Attributes:
        name: An encoder's, or of one that needs none: ``cnn``, ``ngrams``.
        voted: Whether it saw the candidates when the run selected, which flatters what was selected.
        look: From images to features, a row each; NaN where there is none.
        train: From features and a seed to a classifier.
        untrained: The same classifier before it is trained; of the features it takes their width alone.
    """

    name: str
    voted: bool
    look: Callable[[Sequence[Item | None]], Features]
    train: Callable[[Training, int], Predict]
    untrained: Callable[[Training, int], Predict] = untrained_head
