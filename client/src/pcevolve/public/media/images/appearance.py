"""Measure and set the appearance of images: tone, colour, sharpness and position of the subject.

A generator may draw each class in a tone, or at a position, that the owner's images of this class do not have. A
classifier then learns the tone and the position instead of the class. A dataset in which every image has the owner's
appearance avoids this.

The subject is the part of an image that contrasts with the ground. An image without a subject, such as a texture,
has its position near the middle. The position is the middle of the subject's extent. The centre of mass would not
do, because it differs between a 6 and a 9, and one position has to serve all classes.

Measuring and setting are fixed functions of one image. They use no statistics of a set, no files and no private
data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pcevolve.errors import TranscriptError
from pcevolve.public.media.images.decoding import DecodedImage, decode_picture
from pcevolve.public.release import Receipt

FloatArray = NDArray[np.float64]

MIDDLE = 0.5
REACH = 0.1  # share of a side: greatest measured distance of a subject from the middle
OUTSIDE = 0.05  # share of the subject outside its extent on either side, so that specks do not count
FAINT, CLEAR = 0.3, 0.7  # shares of the contrast below which nothing, and above which everything is subject
MOVED_SHARE = (
    0.7  # an image keeps part of its own position, because real subjects are not all at one position
)


def find_position(luminance: FloatArray, ground: float, ink: float) -> tuple[float, float]:
    """Return the position of the subject's middle, down and across, in [0, 1].

    The values 0 and 1 are ``REACH`` of the image's side away from its middle.

    Args:
        luminance: float64 ``(height, width)``.
        ground: Luminance of the ground.
        ink: Luminance of the strongest contrast to the ground; not equal to ``ground``.
    """
    share = (((luminance - ground) / (ink - ground) - FAINT) / (CLEAR - FAINT)).clip(0, 1)
    if share.sum() <= 0:
        return MIDDLE, MIDDLE
    return _number(share.sum(axis=1)), _number(share.sum(axis=0))


def move(pixels: FloatArray, own: tuple[float, float], wanted: tuple[float, float]) -> FloatArray:
    """Move an image most of the way from one position to another, by whole pixels, so that it is not blurred.

    Pixels that enter at an edge mirror the pixels next to the edge.

    Args:
        pixels: float64 ``(height, width, 3)``.
        own: Position of the image's subject, down and across, from ``find_position``.
        wanted: Position to move towards, in the same form.
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
    """Return the middle of a profile's extent, rescaled by ``REACH`` to [0, 1]."""
    reached = np.concatenate([[0.0], np.cumsum(profile)]) / profile.sum()
    extent = np.interp((OUTSIDE, 1 - OUTSIDE), reached, np.arange(len(reached)))
    centre = float(extent.mean()) / len(profile)
    return min(max(MIDDLE + (centre - MIDDLE) / (2 * REACH), 0.0), 1.0)


NUMBERS = 6
DECIMALS = 6
"""Number of decimals of each number in a released appearance."""
DARKEST, BRIGHTEST = 0.02, 0.98  # quantiles
SHARPNESS_SIDE = 64  # pixels of the shorter side at which sharpness is measured
LONGEST_SIDE = 64 * SHARPNESS_SIDE
RIM_SHARE = 6 / 64  # share of the shorter side; the rim of this width is ground
BLURS = (0.0, 0.7, 1.2, 1.8, 2.5, 3.3)  # standard deviations in 64ths of the shorter side
LARGEST_GAIN = 4.0
AS_IS, MATCHED = (0.0,), (1.0,)
"""A receipt's value for the appearance in which candidates were chosen, if the plan leaves the choice open."""
LEAST_CONTRAST = 0.02
LEAST_ROOM = 0.5
"""Least share of an image's contrast that must remain when the image is given an appearance."""


@dataclass(frozen=True)
class Appearance:
    """Six numbers in [0, 1]. Numbers that vary little between images are stretched, so that noise blurs them less.

    Attributes:
        ground: Luminance of the rim.
        ink: Luminance of the strongest contrast to the ground.
        saturation: Mean difference between the strongest and the weakest channel of a pixel.
        sharpness: Steepness of the sharpest edges, relative to the contrast between ground and ink.
        down: Position of the subject from top to bottom; see ``find_position``.
        across: Position of the subject from left to right.
    """

    ground: float
    ink: float
    saturation: float
    sharpness: float
    down: float
    across: float

    @classmethod
    def of(cls, image: DecodedImage) -> Self:
        """Measure the appearance of one image from its own pixels alone."""
        pixels = _pixels(image)
        luminance = _luminance(pixels)
        ground, ink = _ground_and_ink(luminance)
        saturation, sharpness = _angle(_saturation(pixels)), _sharpness(pixels, ink - ground)
        return cls(_angle(ground), _angle(ink), saturation, sharpness, *_position(luminance, ground, ink))

    @classmethod
    def released(cls, values: Sequence[float]) -> Self:
        """Read the appearance in a receipt (``TranscriptError`` for another number of values)."""
        if len(values) != NUMBERS:
            raise TranscriptError(
                f"the run's receipt holds {len(values)} numbers of appearance, and this version reads {NUMBERS}: "
                "read it with the version that made it, or begin a new run"
            )
        return cls(*values)

    @classmethod
    def nearest(cls, vector: FloatArray) -> Self:
        """Return the appearance nearest to six numbers, rounded to six decimals."""
        return cls(
            *(round(float(each), DECIMALS) + 0.0 for each in np.clip(vector, 0.0, 1.0))
        )  # adding 0.0 turns -0.0 into 0.0

    @property
    def numbers(self) -> tuple[float, ...]:
        """The six numbers."""
        return astuple(self)

    @property
    def vector(self) -> FloatArray:
        """The six numbers, float64 ``(6,)``, each in [0, 1]."""
        return np.array(self.numbers, dtype=np.float64)

    def apply_to(self, image: DecodedImage) -> DecodedImage:
        """Give an image this appearance: move it, reduce colour, soften edges, shift ground and ink.

        No detail is added. Light on dark stays light on dark, unless less than half of the contrast would fit between
        the new ground and the end of the scale. In that case luminance is inverted, and hue is kept.
        """
        # Ground and ink are shifted last, because the other steps change them.
        pixels, ground, ink = self._soften(self._position(self._tone_down(_pixels(image))))
        gain, onto = self._gain(ink - ground), _level(self.ground)
        if not self._has_room(gain * (ink - ground)):
            shifted = _turn(pixels, ground, onto, self._gain(ground - ink))
        else:
            shifted = onto + (pixels - ground) * gain
        return Image.fromarray((shifted.clip(0, 1) * 255).round().astype(np.uint8))

    def _gain(self, contrast: float) -> float:
        """Return the factor by which the difference between ink and ground is multiplied.

        The factor is 1 if the image has no ink, or if this appearance has dark and light the other way round.
        """
        wanted = _level(self.ink) - _level(self.ground)
        if abs(contrast) <= LEAST_CONTRAST or wanted * contrast <= 0:
            return 1.0
        return min(max(wanted / contrast, 1 / LARGEST_GAIN), LARGEST_GAIN)

    def _has_room(self, contrast: float) -> bool:
        """True if enough of a contrast fits between the target ground and the end of the scale."""
        ground = _level(self.ground)
        return (1 - ground if contrast > 0 else ground) >= LEAST_ROOM * abs(contrast)

    def _tone_down(self, pixels: FloatArray) -> FloatArray:
        grey = _luminance(pixels)[:, :, None]
        share = min(1.0, _level(self.saturation) / max(_saturation(pixels), 1e-6))
        return np.asarray(grey + (pixels - grey) * share)

    def _position(self, pixels: FloatArray) -> FloatArray:
        luminance = _luminance(pixels)
        return move(pixels, _position(luminance, *_ground_and_ink(luminance)), (self.down, self.across))

    def _soften(self, pixels: FloatArray) -> tuple[FloatArray, float, float]:
        """Blur an image to the target sharpness, and return it with the luminance of its ground and ink."""
        scale = min(pixels.shape[:2]) / SHARPNESS_SIDE
        for width in BLURS:
            # Measured again after each blur, which also lowers the contrast.
            soft = blur(pixels, width * scale) if width else pixels
            ground, ink = _ground_and_ink(_luminance(soft))
            if _sharpness(soft, ink - ground) <= self.sharpness:
                break
        return soft, ground, ink


def average_appearance(shown: Iterable[Appearance | None]) -> Appearance:
    """Return the mean appearance of the usable images; the middle of all six scales if none is usable."""
    seen = [each.vector for each in shown if each is not None]
    return Appearance.nearest(np.mean(seen, axis=0) if seen else np.full(NUMBERS, MIDDLE))


def is_released(values: Sequence[float]) -> bool:
    """True if the values may be a released appearance: six numbers in [0, 1], rounded to the released decimals."""
    spelled = [repr(round(each, DECIMALS)) for each in values if 0 <= each <= 1 and str(each) != "-0.0"]
    return len(values) == NUMBERS and spelled == [repr(each) for each in values]


def find_released_appearance(receipts: Iterable[Receipt]) -> Appearance | None:
    """Return the released appearance; None if there is none, or if the last receipt chose the images as received."""
    in_order = sorted(receipts, key=lambda each: each.iteration)
    if not in_order or in_order[0].iteration or in_order[-1].values == AS_IS:
        return None
    return Appearance.released(in_order[0].values)


def develop(data: bytes, wanted: Appearance | None) -> DecodedImage | None:
    """Decode received bytes, and apply an appearance if one is given; None for an undecodable image."""
    image = decode_picture(data)
    return image if image is None or wanted is None else wanted.apply_to(image)


def _pixels(image: DecodedImage) -> FloatArray:
    return np.asarray(image.convert("RGB"), dtype=np.float64) / 255


def _luminance(pixels: FloatArray) -> FloatArray:
    """Average the channels to ``(height, width)``; bit for bit equal to ``mean(axis=2)``, but faster."""
    return np.asarray((pixels[:, :, 0] + pixels[:, :, 1] + pixels[:, :, 2]) / 3)


def blur(pixels: FloatArray, deviation: float) -> FloatArray:
    """Blur an image with a Gaussian, cut off at four standard deviations; edge pixels repeat beyond the edge.

    Args:
        deviation: Standard deviation in pixels, > 0.

    Returns:
        The result of SciPy's ``gaussian_filter``, with the same order of additions. Importing SciPy itself would
        take as long as the audit of a small run.
    """
    reach = int(4 * deviation + 0.5)
    kernel = np.exp(-0.5 / (deviation * deviation) * np.arange(-reach, reach + 1) ** 2)
    kernel /= kernel.sum()
    return _correlate(_correlate(pixels, kernel, 0), kernel, 1)


def _correlate(pixels: FloatArray, kernel: FloatArray, axis: int) -> FloatArray:
    """Correlate rows or columns with a symmetric kernel of odd length."""
    reach, side = len(kernel) // 2, pixels.shape[axis]
    # A copy in which each row or column is contiguous: sums of strided rows take twice as long.
    moved = np.moveaxis(pixels, axis, 0)
    lines = np.empty((side + 2 * reach, *moved.shape[1:]))
    lines[:reach], lines[reach : reach + side], lines[reach + side :] = moved[0], moved, moved[-1]
    summed = lines[reach : reach + side] * kernel[reach]
    pair = np.empty_like(summed)
    for off in range(reach, 0, -1):
        np.add(lines[reach - off :][:side], lines[reach + off :][:side], out=pair)
        pair *= kernel[reach - off]
        summed += pair
    return np.moveaxis(summed, 0, axis)


def _turn(pixels: FloatArray, ground: float, onto: float, gain: float) -> FloatArray:
    """Invert luminance so that the ground moves to ``onto``. Hues are kept; darkened pixels lose colour."""
    luminance = _luminance(pixels)[:, :, None]
    shown = (onto - (luminance - ground) * gain).clip(0, 1)
    return np.asarray(shown + (pixels - luminance) * np.minimum(shown / np.maximum(luminance, 1e-6), 1.0))


def _angle(level: float) -> float:
    """Stretch a level in [0, 1] near 0 and 1, so that noise of equal size blurs all levels alike."""
    return float(np.arcsin(np.sqrt(np.clip(level, 0, 1))) * 2 / np.pi)


def _level(angle: float) -> float:
    """Invert ``_angle``: return the level, in [0, 1]."""
    return float(np.sin(angle * np.pi / 2) ** 2)


def _ground_and_ink(luminance: FloatArray) -> tuple[float, float]:
    rim = max(1, round(RIM_SHARE * min(luminance.shape)))
    inside = np.zeros(luminance.shape, dtype=bool)
    inside[rim:-rim, rim:-rim] = True
    ground = float(np.median(luminance[~inside]))
    dark, bright = np.quantile(luminance, (DARKEST, BRIGHTEST))
    return ground, float(bright if bright - ground >= ground - dark else dark)


def _position(luminance: FloatArray, ground: float, ink: float) -> tuple[float, float]:
    return find_position(luminance, ground, ink) if abs(ink - ground) > LEAST_CONTRAST else (MIDDLE, MIDDLE)


def _saturation(pixels: FloatArray) -> float:
    red, green, blue = (pixels[:, :, channel] for channel in range(3))
    most, least = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    return float((most - least).mean())


def _sharpness(pixels: FloatArray, contrast: float) -> float:
    """Measure sharpness at 64 pixels across, so that a sharp edge is equally wide in large and small images."""
    luminance = _at_scale(_luminance(pixels))
    down, across = np.diff(luminance, axis=0)[:, :-1], np.diff(luminance, axis=1)[:-1, :]
    steepest = np.quantile(np.hypot(down, across), BRIGHTEST)
    return _angle(float(min(steepest / (abs(contrast) + 0.1), 1.0)))


def _at_scale(luminance: FloatArray) -> FloatArray:
    height, width = luminance.shape
    shorter = min(height, width)
    if shorter == SHARPNESS_SIDE:
        return luminance
    down, across = (min(round(side * SHARPNESS_SIDE / shorter), LONGEST_SIDE) for side in (height, width))
    small = Image.fromarray(luminance.astype(np.float32)).resize((across, down), Image.Resampling.BILINEAR)
    return np.asarray(small, dtype=np.float64)


def measure_appearances(images: Sequence[DecodedImage]) -> FloatArray:
    """Return the appearance of each image, float64 ``(images, 6)`` in [0, 1]."""
    return np.array([Appearance.of(image).vector for image in images]).reshape(len(images), NUMBERS)
