"""Two encoders as one: the bundled one for textures and marks, and a MobileNet for photographs.

An embedding is the concatenation of both, scaled so that their public radii are alike. A release clips, pays
for and blurs both at once, and every proof about embeddings holds unchanged: it only requires that a frame is
public. Each part keeps its own axes (``PublicFrame.parts``); otherwise the part with the larger variance
would take them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.encoders import BUNDLED, BUNDLED_FRAMES, JOINED, MOBILENET, Encoder, digest_files
from pcevolve.public.encoders.bundled import load_bundled
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.encoders.mobilenet import FEATURES, MobileNet, load_state
from pcevolve.public.media.images.decoding import DecodedImage

AXES: Final = 16
"""Axes of each part on which radii are compared."""


@dataclass(frozen=True, eq=False)
class Joined:
    """An ``Encoder`` that concatenates several.

    Attributes:
        parts: Encoders with public frames.
        units: Factor of each part's embeddings.
    """

    name: str
    parts: tuple[Encoder, ...] = field(repr=False)
    units: tuple[float, ...]
    frame: PublicFrame | None

    @property
    def dimension(self) -> int:
        """The sum of the parts' dimensions."""
        return sum(each.dimension for each in self.parts)

    def embed(self, images: Sequence[DecodedImage | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, dimension)``; a row is NaN if one part is."""
        seen = [unit * each.embed(images) for each, unit in zip(self.parts, self.units, strict=True)]
        rows = np.concatenate(seen, axis=1)
        rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return rows


def load_joined(name: str = JOINED) -> Joined:
    """Load both parts (``ModelError`` if weights or frames are not installed)."""
    bundled, photographs = load_bundled(BUNDLED, None), load_mobilenet()
    assert bundled.frame is not None
    assert photographs.frame is not None
    # A power of two loses no digit, and brings the radii within a factor of sqrt(2).
    ratio = bundled.frame.radii[AXES - 1] / photographs.frame.radii[AXES - 1]
    units = (1.0, float(2.0 ** np.rint(np.log2(ratio))))
    files = [BUNDLED_FRAMES[BUNDLED], BUNDLED_FRAMES[MOBILENET]]
    frame = join_frames([bundled.frame, photographs.frame], units, files)
    return Joined(name, (bundled, photographs), units, frame)


def load_mobilenet(name: str = MOBILENET) -> MobileNet:
    """Load the part for photographs as an encoder of its own; errors as in ``load_joined``."""
    frame = PublicFrame.read(BUNDLED_FRAMES[MOBILENET], FEATURES)
    return MobileNet(name, load_state(), frame)


def join_frames(frames: Sequence[PublicFrame], units: Sequence[float], files: Sequence[Path]) -> PublicFrame:
    """Join the scaled frames of several concatenated encoders."""
    scaled = tuple(each.scale(unit) for each, unit in zip(frames, units, strict=True))
    return PublicFrame.join(digest_files(files), scaled)
