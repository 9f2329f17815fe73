"""Map the values that a file stores to 256 levels, and check that contrast is left.

A picture is shown with the first of these mappings that exists: the window of ``data.window``, which is public
and the same for all files; the file's own table or window; the full range of its bits. It is never scaled to its
own least and greatest values, so that two pictures from one device stay comparable. Contrast is judged by the
spread of levels instead of the greatest level, because one hot pixel is white in any picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pcevolve.public.media.images.decoding import DecodedImage

Window: TypeAlias = tuple[float, float]
"""The values that become black and white, in a file's own units, after slope and intercept."""
Numbers: TypeAlias = NDArray[Any]
Shares: TypeAlias = NDArray[np.float64]

WIDE = 64
"""A picture of more than 8 bits has contrast if 98 % of its pixels spread over at least this many of 255 levels."""
NARROW = 16
"""Number of levels (of 255) within which the eye sees no difference."""
FEW = 16
"""Largest number of distinct values in a drawing or a mask. A photograph or scan has more."""
FEW_HIGH = 2
"""Largest number of distinct values in a drawing or a mask if only the highest 8 bits are known.

The number is smaller than ``FEW``, because 4,096 values stored in 16 bits then become 16.
"""
GAP = 8
"""Width of a gap in the levels that separates two parts, such as a picture and the frame around it."""
LEAST_SHARE = 0.05
"""Least share of pixels between two gaps that counts as part of the picture. A smaller part counts as writing."""
LOOKED_AT = 1_000_000
"""Largest number of pixels by which the spread of a picture is measured. The pixels are evenly spaced."""
WAY_OUT = "say which of its values are black and white with --set data.window=LOW,HIGH"
BY_WINDOW, BY_FILE, BY_BITS, AS_STORED = (
    "mapped by data.window",
    "mapped by the file's own window or table",
    "scaled from the whole range of their bits",
    "of 8 bits, used unchanged",
)
REFUSED = "refused"
_WRAPPED = (
    "seems to hold negative numbers whose sign was left out, in 16 bits: save it as signed, or with an offset that "
    "makes all of them positive"
)


@dataclass(frozen=True, repr=False, eq=False)
class Seen:
    """The levels seen in one picture; private.

    Attributes:
        how: The mapping that is used to show it, or ``REFUSED``.
        low: The picture's least value, in the file's units.
        levels: The range, in 0 to 255, of 99.8 % of each channel's pixels, uint8 ``(2, channels)``.
        varies: True if its values differ at all. A picture of one colour has no contrast to lose.
    """

    how: str
    bits: int
    low: float
    high: float
    levels: NDArray[np.uint8]
    varies: bool

    @property
    def is_flat(self) -> bool:
        """True if almost nothing is visible."""
        return bool((self.levels[1].astype(int) - self.levels[0]).max() < NARROW)


class ContrastError(Exception):
    """A picture would be shown without contrast. The message gives advice; ``seen`` is for the owner alone."""

    def __init__(self, message: str, seen: Seen) -> None:
        super().__init__(message)
        self.seen = seen


@dataclass(frozen=True, repr=False, eq=False)
class Grey:
    """One grey picture, before it is mapped to levels.

    Attributes:
        stored: The file's values, ``(rows, columns)``, by which the ledger identifies the picture.
        values: The same values in the file's own units, float64.
        whole: Values of the least and greatest number that its bits can represent; None if these are meaningless.
        own: Each value mapped to [0, 1] by the file's own window or table; None if the file has neither.
        inverted: True if high values are dark.
        padding: Mask of values that only fill the rectangle; None without padding.
    """

    stored: Numbers
    values: NDArray[np.float64]
    bits: int
    whole: Window | None
    own: Shares | None = None
    inverted: bool = False
    padding: NDArray[np.bool_] | None = None

    def show(self, window: Window | None) -> tuple[NDArray[np.uint8], Seen]:
        """Return levels from 0 to 255, uint8 ``(rows, columns)``, and the levels seen.

        Raises:
            ContrastError: No mapping is known, or almost nothing would be visible.
        """
        how, shares = self._shares(window)
        if shares is None:
            black = np.zeros((1, 1), dtype=np.uint8)
            fault = f"has {self.bits}-bit pixels, whose range nobody knows: {WAY_OUT}"
            raise ContrastError(fault, self._describe(REFUSED, black))
        levels = np.rint(255 * shares).astype(np.uint8)
        if fault := self._fault(levels, window):
            raise ContrastError(fault, self._describe(REFUSED, levels))
        levels = 255 - levels if self.inverted else levels
        return levels, self._describe(how, levels)

    def _shares(self, window: Window | None) -> tuple[str, Shares | None]:
        """Return the mapping that is used, and each value's position between black (0) and white (1)."""
        if window is not None:
            return BY_WINDOW, place_between(self.values, window)
        if self.own is not None:
            return BY_FILE, self.own
        if self.whole is None:
            return REFUSED, None
        return AS_STORED if self.bits <= 8 else BY_BITS, place_between(self.values, self.whole)

    def _describe(self, how: str, levels: NDArray[np.uint8]) -> Seen:
        real = self.values if self.padding is None or self.padding.all() else self.values[~self.padding]
        numbers = real[np.isfinite(real)]
        low, high = float(numbers.min(initial=np.inf)), float(numbers.max(initial=-np.inf))
        return Seen(how, self.bits, low, high, find_ends(levels), low < high)

    def _fault(self, levels: NDArray[np.uint8], window: Window | None) -> str:
        """Return why the levels cannot be used; empty if they can."""
        if not np.isfinite(self.values).any():
            return "holds no number that can be shown; remove it"
        if window is not None:
            return self._window_fault(window)
        if self.own is not None or self.whole is None:
            return ""
        if self.bits <= 8:
            return _blackness(levels)
        real = slice(None) if self.padding is None or self.padding.all() else ~self.padding
        values, covered = _some(self.values[real].reshape(-1)), _some(levels[real].reshape(-1))
        if _spread(covered) >= WIDE and not _is_lost(values, covered, FEW):
            return ""
        if self._wraps():
            return f"{_WRAPPED}, or {WAY_OUT}"
        return f"has next to no contrast in the whole range of its {self.bits} bits: {WAY_OUT}"

    def _window_fault(self, window: Window) -> str:
        """Return why a window cannot apply to files of this kind, whatever their values are; empty if it can."""
        if self.whole is None:
            return ""
        (low, high), (least, most) = sorted(window), self.whole
        if high <= least or low >= most:
            return (
                f"has values from {least:g} to {most:g}, of which none lies within data.window: it is in a file's own "
                "units, after slope and intercept"
            )
        return _WRAPPED if low < least and self._wraps() else ""

    def _wraps(self) -> bool:
        """True if values lie at both ends of 16 bits and none lie between, like negative numbers stored as unsigned."""
        if self.whole != (0.0, 65535.0):
            return False
        low, high = self.values < 2**14, self.values >= 3 * 2**14
        negative = len(np.unique(_some(self.values[high]))) > FEW
        return bool((low | high).all() and min(low.mean(), high.mean()) >= LEAST_SHARE and negative)


def place_between(values: Numbers, window: Window) -> Shares:
    """Map values between two ends, given in either order, to [0, 1]; NaN becomes 0."""
    low, high = window
    shares = (np.asarray(values, dtype=np.float64) - low) / (high - low)
    return np.clip(np.nan_to_num(shares, nan=0.0), 0, 1)


def find_ends(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the levels between which 99.8 % of each channel's pixels lie, uint8 ``(2, channels)``."""
    flat = _some(levels.reshape(-1, levels.shape[2] if levels.ndim == 3 else 1))
    return np.asarray(np.percentile(flat, (0.1, 99.9), axis=0, method="nearest"), dtype=np.uint8)


def require_seen(image: DecodedImage, bits: int) -> Seen:
    """Measure the levels of a picture with its file's mapping.

    Args:
        image: RGB.
        bits: Bits per value in the file. If there are more than 8, the levels are the highest 8.

    Raises:
        ContrastError: The picture is not black but looks black, or has more than 8 bits and almost no contrast.
    """
    levels = np.asarray(image)
    seen = Seen(REFUSED, bits, float(levels.min()), float(levels.max()), find_ends(levels), _varies(levels))
    fault = _blackness(levels)
    channels = [_some(levels[..., channel].reshape(-1)) for channel in range(3)]
    if bits > 8 and all(_spread(each) < WIDE or _is_lost(each, each, FEW_HIGH) for each in channels):
        fault = f"has next to no contrast in the whole range of its {bits} bits: convert it to 8 bits"
    if fault:
        raise ContrastError(fault, seen)
    return replace(seen, how=AS_STORED if bits <= 8 else BY_BITS)


def find_folder_fault(seen: Sequence[Seen]) -> str:
    """Return what is wrong with the pictures of a folder taken together; empty if nothing is.

    One flat picture among others may be real, such as an empty slide. The mapping is at fault if all pictures are flat
    at one level, or if most pictures that a window or table maps are flat.
    """
    if seen and seen[0].how == BY_WINDOW and len({each.bits <= 8 for each in seen}) == 2:
        return (
            "some images have 8 bits and others more, and data.window is in a file's own units: give all of them the "
            "same "
            "form, or leave data.window out"
        )
    low = min((int(each.levels[0].min()) for each in seen), default=0)
    high = max((int(each.levels[1].max()) for each in seen), default=255)
    varied = [each for each in seen if each.varies]
    flat = sum(each.is_flat and each.how in (BY_WINDOW, BY_FILE) for each in varied)
    if not varied or (high - low >= NARROW and 2 * flat <= len(varied)):
        return ""
    what = "all images together have" if high - low < NARROW else f"{flat} of {len(seen)} images have"
    other = "another --set data.window=LOW,HIGH" if seen[0].how == BY_WINDOW else "--set data.window=LOW,HIGH"
    return f"{what} next to no contrast: say which of their values are black and white with {other}"


def is_grey(image: DecodedImage) -> bool:
    """True if the three channels of an RGB image are equal."""
    red, green, blue = (channel.tobytes() for channel in image.split())
    return red == green == blue


def make_grey(image: DecodedImage, bits: int, inverted: bool) -> Grey:
    """Build a grey picture of up to 8 bits from an RGB image with equal channels."""
    most = 2**bits - 1
    values = np.asarray(image.getchannel(0)) // (255 // most)
    values = most - values if inverted else values
    return Grey(values, values.astype(np.float64), bits, (0.0, float(most)), inverted=inverted)


def to_rgb(levels: NDArray[np.uint8]) -> DecodedImage:
    """Convert levels, uint8 ``(rows, columns)`` or ``(rows, columns, 3)``, to an RGB image."""
    return Image.fromarray(levels).convert("RGB")


def _varies(levels: NDArray[np.uint8]) -> bool:
    """True if a channel has more than one level."""
    return bool(np.ptp(levels.reshape(-1, levels.shape[2] if levels.ndim == 3 else 1), axis=0).any())


def _blackness(levels: NDArray[np.uint8]) -> str:
    """Return why levels that vary would look black; empty if they would not."""
    pixels = levels.reshape(-1, levels.shape[2] if levels.ndim == 3 else 1)
    if len(np.unique(levels)) <= FEW:  # in a mask, white marks pixels without a class
        pixels = pixels[(pixels < 255).any(axis=1)]
    if len(pixels) == 0 or not _varies(pixels[:, None]) or int(find_ends(pixels[:, None])[1].max()) >= NARROW:
        return ""
    # A window applies to grey values; the colours of a palette are not values.
    is_value = levels.ndim == 2 or not np.ptp(levels, axis=2).any()
    way = f"{WAY_OUT}, such as 0,1 for a mask" if is_value else "brighten it, or save it as grey values"
    return f"would be black, because its values end below {NARROW} of 255: {way}"


def _is_lost(values: Numbers, levels: Numbers, few: int) -> bool:
    """True if every visible part is flat although some vary in value; surrounding frames and writing do not count.

    Args:
        values: The file's values; a picture has more than ``few`` distinct values.
        levels: The levels in 0 to 255 that show them.
        few: Largest number of distinct values in a part that is not a picture.
    """
    there = np.flatnonzero(np.bincount(levels, minlength=256))
    pieces = np.split(there, np.flatnonzero(np.diff(there) > GAP) + 1)
    inside = [(levels >= piece[0]) & (levels <= piece[-1]) for piece in pieces]
    inside = [each for each in inside if each.mean() >= LEAST_SHARE]
    flat = [_spread(levels[each], 5) < NARROW for each in inside]
    varied = [len(np.unique(values[each])) > few for each in inside]
    return all(flat) and any(varied)


def _spread(levels: Numbers, left_out: int = 1) -> int:
    """Return the number of levels between the percentiles ``left_out`` and 100 - ``left_out``."""
    low, high = np.percentile(levels, (left_out, 100 - left_out), method="nearest")
    return int(high) - int(low)


def _some(values: Numbers) -> Numbers:
    """Subsample values, or rows, so that measuring them is fast."""
    return values[:: max(1, len(values) // LOOKED_AT)]
