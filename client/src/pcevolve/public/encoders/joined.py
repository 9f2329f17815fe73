"""Two encoders as one: the bundled one for textures and marks, and a MobileNet for photographs.

An embedding is the concatenation of both, scaled so that their public radii are similar. A release clips both at
once, pays for both at once and adds noise to both. Every proof about embeddings holds unchanged, because the proofs
only require a public frame. Each part keeps its own axes (``PublicFrame.parts``). Otherwise the part with the larger
variance would get all axes.
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
"""Number of axes of each part on which radii are compared."""


@dataclass(frozen=True, eq=False)
class Joined:
    """An ``Encoder`` that concatenates the embeddings of several encoders.

    Attributes:
        parts: Encoders with public frames.
        units: The factor by which each part's embeddings are multiplied.
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
        """Return float64 ``(images, dimension)``. A row is NaN if the row of one part is NaN."""
        seen = [unit * each.embed(images) for each, unit in zip(self.parts, self.units, strict=True)]
        rows = np.concatenate(seen, axis=1)
        rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return rows


def load_joined(name: str = JOINED) -> Joined:
    """Load both parts (``ModelError`` if weights or frames are not installed)."""
    bundled, photographs = load_bundled(BUNDLED, None), load_mobilenet()
    assert bundled.frame is not None
    assert photographs.frame is not None
    # Multiplying by a power of two loses no digit. The radii are then equal within a factor of sqrt(2).
    ratio = bundled.frame.radii[AXES - 1] / photographs.frame.radii[AXES - 1]
    units = (1.0, float(2.0 ** np.rint(np.log2(ratio))))
    files = [BUNDLED_FRAMES[BUNDLED], BUNDLED_FRAMES[MOBILENET]]
    frame = join_frames([bundled.frame, photographs.frame], units, files)
    return Joined(name, (bundled, photographs), units, frame)


def load_mobilenet(name: str = MOBILENET) -> MobileNet:
    """Load the part for photographs as a separate encoder. Errors as in ``load_joined``."""
    frame = PublicFrame.read(BUNDLED_FRAMES[MOBILENET], FEATURES)
    return MobileNet(name, load_state(), frame)


def join_frames(frames: Sequence[PublicFrame], units: Sequence[float], files: Sequence[Path]) -> PublicFrame:
    """Join the scaled frames of several concatenated encoders."""
    scaled = tuple(each.scale(unit) for each, unit in zip(frames, units, strict=True))
    return PublicFrame.join(digest_files(files), scaled)
