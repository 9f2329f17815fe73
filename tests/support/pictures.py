"""Pictures in files, and what is read of them."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pcevolve.modality.images.files import RejectedImageError, read_image


def disc(inside, outside, kind=np.uint16):
    rows, columns = np.mgrid[:64, :64]
    return np.where((rows - 32) ** 2 + (columns - 32) ** 2 < 400, inside, outside).astype(kind)


def save(path, values):
    Image.fromarray(values).save(path)
    return path


def greys(path, window=None):
    return np.asarray(read_image(path, window)[0])[..., 0].astype(int)


def expect_refusal(path, told, window=None):
    with pytest.raises(RejectedImageError, match=told):
        read_image(path, window)
