"""Judges and voter that remember images: a library answers with the same ones again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.judges import ONNX, Look, Pictures, load_onnx
from benchmarks.private_sets import DATA
from pcevolve.public.encoders import Encoder, load_encoder
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.media.images.files import digest_pixels

HEADS = tuple(ONNX)
"""Encoders that did not vote."""


@dataclass
class Remembering:
    """Keeps what an encoder made of each image, by the image's pixels; it is the same every time.

    Attributes:
        look: The encoder.
        file: Where it is kept; None: in memory alone.
    """

    look: Look
    file: Path | None = None
    known: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file is not None and self.file.exists():
            with np.load(self.file) as kept:
                self.known.update(zip(kept["digests"].tolist(), kept["rows"], strict=True))

    def __call__(self, pictures: Pictures) -> np.ndarray:
        """Rows, float ``(pictures, size)``."""
        digests = [_digest(each) for each in pictures]
        missing = {
            digest: each for digest, each in zip(digests, pictures, strict=True) if digest not in self.known
        }
        if missing:
            self.known.update(zip(missing, self.look(list(missing.values())), strict=True))
        return np.stack([self.known[digest] for digest in digests])

    def keep(self) -> None:
        """Write what is known for the next start."""
        if self.file is not None and self.known:
            partial = self.file.with_suffix(".partial.npz")
            np.savez(partial, digests=np.array(list(self.known)), rows=np.stack(list(self.known.values())))
            partial.replace(self.file)


def _digest(image: Image.Image | None) -> str:
    return "nothing" if image is None else digest_pixels(image).hex()


@dataclass(frozen=True)
class RememberingEncoder:
    """An ``Encoder`` that embeds each image once."""

    encoder: Encoder
    rows: Remembering

    @property
    def name(self) -> str:
        """The encoder's."""
        return self.encoder.name

    @property
    def dimension(self) -> int:
        """The encoder's."""
        return self.encoder.dimension

    @property
    def frame(self) -> PublicFrame | None:
        """The encoder's."""
        return self.encoder.frame

    def embed(self, images: Sequence[Image.Image | None]) -> np.ndarray:
        """As the encoder does: a row depends on its image's pixels alone."""
        return self.rows(images)


@cache
def voter(name: str) -> RememberingEncoder:
    """An encoder that votes."""
    encoder = load_encoder(name)
    return RememberingEncoder(encoder, Remembering(encoder.embed))


@cache
def heads(work: Path) -> dict[str, Remembering]:
    """Encoders that do not vote, with what they saw before.

    Raises:
        SystemExit: Their weights are not at hand.
    """
    looks = {name: load_onnx(name) for name in HEADS}
    if missing := [name for name, look in looks.items() if look is None]:
        raise SystemExit(f"no weights of {', '.join(missing)}: set {DATA}")
    return {name: Remembering(look, work / f"{name}.npz") for name, look in looks.items() if look}
