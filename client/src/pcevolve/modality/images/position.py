"""Where the subject of an image lies, in two numbers, and how to move it.

A generator that sets its subjects a little higher than the owner's images have them teaches a classifier where to look
for edges, and it looks in the wrong place. The subject is what stands out against the ground, as ``appearance`` tells
them apart; an image without one, such as a texture, has its position in the middle or near it. The position is the
middle of the subject's extent, not its centre of mass, which would tell a 6 from a 9: one has to do for all classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

MIDDLE = 0.5
REACH = 0.1  # of a side: how far from the middle a subject can be told to lie
OUTSIDE = 0.05  # of the subject on either side of its extent: specks do not count
FAINT, CLEAR = 0.3, 0.7  # of the contrast: below the first nothing is subject, above the second all is
MOVED_SHARE = (
    0.7  # of the way; an image keeps some of its own position, because real subjects do not all lie in one
)


def position_of(luminance: FloatArray, ground: float, ink: float) -> tuple[float, float]:
    """How far down and across the subject's middle lies: 0 and 1 are ``REACH`` of a side off the image's middle.

    Args:
        luminance: float64 ``(height, width)``.
        ground: Luminance of the ground.
        ink: Luminance of what stands out most; not the same as ``ground``.
    """
    share = (((luminance - ground) / (ink - ground) - FAINT) / (CLEAR - FAINT)).clip(0, 1)
    if share.sum() <= 0:
        return MIDDLE, MIDDLE
    return _number(share.sum(axis=1)), _number(share.sum(axis=0))


def moved(pixels: FloatArray, own: tuple[float, float], wanted: tuple[float, float]) -> FloatArray:
    """Move an image most of the way from its own position to another, in whole pixels, so that nothing is blurred.

    What comes in at an edge mirrors what was there.

    Args:
        pixels: float64 ``(height, width, 3)``.
        own: Its position down and across, as ``position_of`` gives it.
        wanted: The position that it should have, likewise.
    """
    height, width = pixels.shape[:2]
    down, across = (
        round(MOVED_SHARE * 2 * REACH * (there - here) * side)
        for here, there, side in zip(own, wanted, (height, width), strict=True)
    )
    room = [(max(down, 0), max(-down, 0)), (max(across, 0), max(-across, 0)), (0, 0)]
    padded = np.pad(pixels, room, mode="symmetric")
    return padded[max(-down, 0) :, max(-across, 0) :][:height, :width]


def _number(profile: FloatArray) -> float:
    """Where the middle of a profile's extent lies."""
    reached = np.concatenate([[0.0], np.cumsum(profile)]) / profile.sum()
    extent = np.interp((OUTSIDE, 1 - OUTSIDE), reached, np.arange(len(reached)))
    centre = float(extent.mean()) / len(profile)
    return min(max(MIDDLE + (centre - MIDDLE) / (2 * REACH), 0.0), 1.0)
