"""Two encoders as one: the bundled one, which knows textures and marks, and a MobileNet, which knows photographs.

An embedding is that of the one with that of the other behind it, in a unit by which their public radii are alike. So a
release clips, pays for and blurs both at once, and every proof about embeddings holds as it stands: it asks of a frame
no more than that it is public. Each part keeps axes of its own (``PublicFrame.parts``), or the part of which images
differ most would take them all.
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
"""Of each part, on which radii are compared."""


@dataclass(frozen=True, eq=False)
class Joined:
    """An ``Encoder`` of several.

    Attributes:
        parts: Encoders that bring public frames.
        units: What an embedding of each is multiplied by.
    """

    name: str
    parts: tuple[Encoder, ...] = field(repr=False)
    units: tuple[float, ...]
    frame: PublicFrame | None

    @property
    def dimension(self) -> int:
        """That of all parts together."""
        return sum(each.dimension for each in self.parts)

    def embed(self, images: Sequence[DecodedImage | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, dimension)``; a row is NaN throughout where one part has none."""
        seen = [unit * each.embed(images) for each, unit in zip(self.parts, self.units, strict=True)]
        rows = np.concatenate(seen, axis=1)
        rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return rows


def load_joined(name: str = JOINED) -> Joined:
    """Load both parts; ``ModelError`` where weights or frames are not installed."""
    bundled, photographs = load_bundled(BUNDLED, None), load_mobilenet()
    assert bundled.frame is not None
    assert photographs.frame is not None
    # A power of two loses no digit, and brings radii within a factor of the root of two of each other.
    ratio = bundled.frame.radii[AXES - 1] / photographs.frame.radii[AXES - 1]
    units = (1.0, float(2.0 ** np.rint(np.log2(ratio))))
    files = [BUNDLED_FRAMES[BUNDLED], BUNDLED_FRAMES[MOBILENET]]
    frame = join_frames([bundled.frame, photographs.frame], units, files)
    return Joined(name, (bundled, photographs), units, frame)


def load_mobilenet(name: str = MOBILENET) -> MobileNet:
    """Load the part that knows photographs, as an encoder of its own; errors as ``load_joined``."""
    frame = PublicFrame.read(BUNDLED_FRAMES[MOBILENET], FEATURES)
    return MobileNet(name, load_state(), frame)


def join_frames(frames: Sequence[PublicFrame], units: Sequence[float], files: Sequence[Path]) -> PublicFrame:
    """The frame of several encoders' embeddings behind each other: each keeps its own, in its unit."""
    scaled = tuple(each.scale(unit) for each, unit in zip(frames, units, strict=True))
    return PublicFrame.join(digest_files(files), scaled)
