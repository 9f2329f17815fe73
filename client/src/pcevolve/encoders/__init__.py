"""Encoders: images to embeddings, on this machine, by weights that are fixed before a run.

Every encoder is public and frozen (eval mode, no gradients). A record's embedding depends on that
record's pixels alone, bit for bit: see ``frozen.FrozenEncoder``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pcevolve.errors import ModelError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

ENCODERS = ("bundled", "resnet18", "clip", "inception", "vit")


class Encoder(Protocol):
    """A fixed, public map from images to vectors; distances between them are L2."""

    @property
    def name(self) -> str:
        """The name it was loaded by."""

    @property
    def dimension(self) -> int:
        """Length of one embedding."""

    def embed(self, images: Sequence[Image.Image | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, dimension)``; a row is NaN throughout where none can be had.

        Args:
            images: Any size; ``None`` stands for a candidate that could not be decoded.
        """


def load_encoder(name: str, weights: str | None = None, device: str = "cpu") -> Encoder:
    """Load an encoder by name.

    Args:
        name: ``bundled``, ``resnet18``, ``inception``, ``vit``, ``clip`` or ``clip:MODEL[:TAG]``
            with a model and pretrained tag of open_clip.
        weights: Path of a state dict (safetensors, or a torch file without pickled code). Without
            it, the bundled file, or the library's published weights from its cache; nothing is downloaded.
        device: A torch device, or ``auto`` for CUDA where there is one.

    Raises:
        UsageError: There is no such encoder or device.
        ModelError: The weights are not at hand or do not fit; the text says where they come from.
    """
    require_encoder(name)
    # Torch takes seconds to import; a wrong name or --help should not.
    from pcevolve.encoders import loading

    return loading.load(name, weights, device)


def weights_digest(weights: str) -> str:
    """SHA-256 of a file of weights, hex: what a plan says about it.

    Raises:
        ModelError: The file cannot be read.
    """
    try:
        with Path(weights).expanduser().open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"--encoder-weights {weights} cannot be read: {error.strerror}") from error


def require_encoder(name: str) -> None:
    """Refuse a name that no encoder has.

    Raises:
        UsageError: Which names there are.
    """
    if name.partition(":")[0] not in ENCODERS or (":" in name and not name.startswith("clip:")):
        raise UsageError(f"no encoder {name!r}: choose one of {', '.join(ENCODERS)}, clip:MODEL:TAG")
