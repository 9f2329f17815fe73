"""Scikit-learn's real handwritten digits as a private dataset, under labels of the owner's choice.

1,797 scans of 8x8 pixels with 16 grey levels (UCI "Optical Recognition of Handwritten Digits",
CC BY 4.0), light ink on dark. They come with scikit-learn, so nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn import datasets

from pcevolve.errors import UsageError
from pcevolve.modality.images.files import pixel_digest
from pcevolve.modality.images.scans import framed
from pcevolve.private.dataset import PrivateDataset
from pcevolve.public.labels import label_faults

_BRIGHTEST = 16.0  # grey level of full ink
ALL_DIGITS: Mapping[int, str] = {digit: f"digit {digit}" for digit in range(10)}


def load_digits(
    shots: int, names: Mapping[int, str] = ALL_DIGITS, seed: int = 0
) -> tuple[PrivateDataset, PrivateDataset]:
    """Return ``shots`` private images per chosen digit, and all others of these digits as held-out test.

    Args:
        shots: Images per class, at least 1.
        names: Digit to label; at least two digits, labels all different.
        seed: Which images become the shots; public.

    Returns:
        The private and the held-out dataset; 64x64 RGB, light on dark with a margin.

    Raises:
        UsageError: The choice of digits, labels or shots makes no sense.
        DataError: Fewer than ``shots`` + 1 images of a digit exist.
    """
    if len(names) < 2 or len(set(names.values())) < len(names) or not set(names) <= set(ALL_DIGITS):
        raise UsageError("digits: choose two or more of 0..9, each under its own label")
    if faults := label_faults(names.values()):
        raise UsageError(f"digits: a label must be visible text that can name a folder: {faults[0]}")
    source = datasets.load_digits()
    labels = tuple(sorted(names.values()))
    chosen = [index for index, digit in enumerate(source.target) if int(digit) in names]
    images = tuple(framed(source.images[index], _BRIGHTEST) for index in chosen)
    dataset = PrivateDataset(
        labels=labels,
        items=images,
        targets=np.array([labels.index(names[int(source.target[index])]) for index in chosen]),
        digests=tuple(pixel_digest(image) for image in images),
    )
    return dataset.split(shots, seed)
