"""Features of released images, kept in the run's private folder, so that a later evaluation need not make them again.

Of what was **released** alone: from features an image can be rebuilt in part, so those of private and of held-out
images are made anew each time, and nothing of them is written down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from pcevolve.durable import write_private_bytes
from pcevolve.evaluation.judge import Features, Judge
from pcevolve.modality.medium import Item


@dataclass(frozen=True)
class KeptFeatures:
    """A file of features for each encoder.

    Attributes:
        folder: The run's ``private/``.
        digests: SHA-256, hex, of each file of the run's dataset, in the order of its images.
    """

    folder: Path
    digests: tuple[str, ...]

    def seen_by(self, judge: Judge, images: Sequence[Item | None]) -> Features:
        """Features of all images, ``(images, ...)``; those that were not kept are made, and kept."""
        known = self._known(judge)
        due = {
            digest: image for digest, image in zip(self.digests, images, strict=True) if digest not in known
        }
        if due:
            known |= dict(zip(due, judge.look(list(due.values())), strict=True))
            # None of what a dataset that has grown or shrunk no longer has.
            kept = {digest: known[digest] for digest in self.digests}
            write_private_bytes(self._path(judge), save(kept))
        return np.stack([known[digest] for digest in self.digests])

    def count_due(self, judge: Judge) -> int:
        """How many images the judge has to look at."""
        return len({*self.digests} - self._known(judge).keys())

    def _known(self, judge: Judge) -> dict[str, Features]:
        """Features by digest; none where the file is not there, or damaged."""
        path = self._path(judge)
        try:
            return load(path.read_bytes()) if path.is_file() else {}
        except (SafetensorError, ValueError):
            return {}

    def _path(self, judge: Judge) -> Path:
        named = "\n".join((judge.name, judge.weights, version("pcevolve")))
        return self.folder / f"features-{hashlib.sha256(named.encode()).hexdigest()[:16]}.safetensors"
