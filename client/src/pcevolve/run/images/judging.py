"""Who judges images: a small network from scratch that never voted, and encoders of images."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from pcevolve.encoders import BUNDLED
from pcevolve.encoders.choice import PREFERRED, is_fetched
from pcevolve.encoders.pixels import pixel_array
from pcevolve.evaluation.heads import CNN_SIDE, QUICK_STEPS, train_cnn, untrained_cnn
from pcevolve.evaluation.judge import Features, Judge
from pcevolve.modality.medium import Item

STRANGER = CNN = "cnn"
"""What a small network is called that is trained on the pixels from scratch; it never voted."""


def encoders() -> list[str]:
    """Encoders that are at hand, better first."""
    return [*filter(is_fetched, PREFERRED), BUNDLED]


def usual() -> list[str]:
    """Judges of a dataset where nobody names any."""
    return [*filter(is_fetched, PREFERRED), STRANGER, BUNDLED]


def stranger() -> Judge:
    """The network, trained as the PCEvolve paper does."""
    return Judge(STRANGER, voted=False, look=_pixels, train=train_cnn, untrained=untrained_cnn)


def quick_stranger() -> Judge:
    """The network, trained for 100 steps whatever the dataset's size."""
    quick = partial(train_cnn, steps=QUICK_STEPS)
    return Judge(STRANGER, voted=False, look=_pixels, train=quick, untrained=untrained_cnn)


def _pixels(images: Iterable[Item | None]) -> Features:
    return pixel_array(list(images), CNN_SIDE)
