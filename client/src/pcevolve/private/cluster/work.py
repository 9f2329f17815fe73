"""A cluster worker's part of a run: read private images, embed them, say which had changed; no noise.

Nothing is raised about an image and nothing is logged, because a cluster keeps what its workers raise and log.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcevolve.encoders import Encoder, load_encoder, named_weights
from pcevolve.errors import ModelError
from pcevolve.modality.images.levels import Window
from pcevolve.private.stored import unchanged
from pcevolve.selectors.choosing import Rendition
from pcevolve_shared.quiet import keep_quiet

DECODED = 16
"""Images that a worker holds the pixels of at a time."""

Table = dict[str, NDArray[Any]]
"""Columns of one batch of rows, by name."""


@dataclass(frozen=True)
class Embedding:
    """The way in which images are embedded; public.

    Attributes:
        encoder: The encoder's name.
        weights: The file of its weights, on every machine of the cluster; None for the installed ones.
        digest: What the plan says of these weights; see ``encoders.named_weights``.
        device: Of a worker.
        rendition: The appearance that each image is given; None for its own.
        window: What is black and what is white in grey files; None for what each says itself.
    """

    encoder: str
    weights: str | None
    digest: str | None
    device: str
    rendition: Rendition
    window: Window | None


def embedded(batch: Mapping[str, NDArray[Any]], embedding: Embedding) -> Table:
    """Embed the images of some files.

    Args:
        batch: ``place``, int64; ``file``, the path as bytes; ``digest``, of its pixels as they were first read.
        embedding: How.

    Returns:
        ``place`` as it came; ``same``, bool: whether the pixels were those; ``row``, float64 ``(n, d)``, NaN where
        they were not.

    Raises:
        ModelError: This machine has not the weights that the plan names.
    """
    encoder = _encoder(embedding.encoder, embedding.weights, embedding.digest, embedding.device)
    rows = np.empty((len(batch["place"]), encoder.dimension))
    same = np.zeros(len(rows), dtype=np.bool_)
    for start in range(0, len(rows), DECODED):
        few = slice(start, start + DECODED)
        images = [
            unchanged(Path(os.fsdecode(file)), digest, embedding.window)
            for file, digest in zip(batch["file"][few], batch["digest"][few], strict=True)
        ]
        same[few] = [image is not None for image in images]
        shown = [
            image if image is None or embedding.rendition is None else embedding.rendition.given_to(image)
            for image in images
        ]
        rows[few] = encoder.embed(shown)
    return {"place": batch["place"], "same": same, "row": rows}


@cache
def _encoder(name: str, weights: str | None, digest: str | None, device: str) -> Encoder:
    """The encoder of this process.

    Raises:
        ModelError: Its weights cannot be had here, or are others.
    """
    keep_quiet()
    if named_weights(name, weights) != digest:
        raise ModelError(f"encoder {name}: a machine of the cluster has other weights than this one")
    return load_encoder(name, weights, device)
