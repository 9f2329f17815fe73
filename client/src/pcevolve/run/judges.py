"""Judges of a dataset: they see images as features, and train classifiers on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.encoders import BUNDLED, WORDS, load_encoder
from pcevolve.encoders.choice import PREFERRED, is_fetched, resolved
from pcevolve.encoders.pixels import pixel_array
from pcevolve.evaluation.heads import CNN_SIDE, Predict, Training, train_cnn, untrained_cnn
from pcevolve.evaluation.ngrams import hashed_ngrams
from pcevolve.evaluation.protocol import train_papers_head, untrained_head
from pcevolve.modality.medium import Item
from pcevolve.public.modalities import Kind

CNN = "cnn"
"""A small network that is trained on the pixels from scratch; it never voted."""
NGRAMS = "ngrams"
"""Hashed words and pairs of words of texts; they never voted either."""
Features = NDArray[np.floating]


@dataclass(frozen=True)
class Judge:
    """Sees images as features, and trains a classifier on them.

    Attributes:
        name: An encoder's, ``CNN`` or ``NGRAMS``.
        voted: Whether it saw the candidates when the run selected, which flatters what was selected.
        look: From images to features, a row each; NaN where there is none.
        train: From features and a seed to a classifier.
        untrained: The same classifier before it is trained; of the features it takes their width alone.
    """

    name: str
    voted: bool
    look: Callable[[Sequence[Item | None]], Features]
    train: Callable[[Training, int], Predict]
    untrained: Callable[[Training, int], Predict]


def judges_of(names: Iterable[str], voter: str | None, device: str, kind: Kind = "image") -> list[Judge]:
    """Load judges.

    Args:
        names: ``cnn``, or encoders as ``NAME`` or ``NAME=WEIGHTS``; none: ``cnn`` and all that are at hand.
        voter: The encoder by which the run selected; None if it looked at nothing.
        device: Of encoders.
        kind: Of what is judged; of texts the judges are ``ngrams`` and encoders of texts.

    Raises:
        UsageError: There is no such encoder, or it is for another kind.
        ModelError: Weights are not at hand.
    """
    usual = [NGRAMS, WORDS] if kind == "text" else [*filter(is_fetched, PREFERRED), CNN, BUNDLED]
    return [_judge(name, voter, device, kind) for name in dict.fromkeys(list(names) or usual)]


def _judge(name: str, voter: str | None, device: str, kind: Kind) -> Judge:
    if name == NGRAMS and kind == "text":
        return Judge(
            NGRAMS, voted=False, look=hashed_ngrams, train=train_papers_head, untrained=untrained_head
        )
    if name == CNN and kind == "image":
        return Judge(
            CNN,
            voted=False,
            look=lambda images: pixel_array(images, CNN_SIDE),
            train=train_cnn,
            untrained=untrained_cnn,
        )
    named, _, weights = name.partition("=")
    encoder = load_encoder(resolved(named, kind)[0], weights or None, device)
    voted = voter is not None and named.partition("+")[0] == voter.partition("+")[0]
    return Judge(name, voted, encoder.embed, train_papers_head, untrained_head)
