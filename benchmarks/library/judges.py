"""What a dataset is worth to encoders that took no part in choosing it: linear heads on MobileNetV2 and SqueezeNet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.linear_model import LogisticRegression

from benchmarks.judges import other_eyes
from benchmarks.private_sets import DATA


@dataclass
class Judge:
    """A frozen encoder; what it made of an image is remembered by the image's bytes."""

    name: str
    cache: Path
    known: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self._file.exists():
            with np.load(self._file) as kept:
                self.known.update(kept)

    @property
    def _file(self) -> Path:
        return self.cache / f"{self.name}.npz"

    def features(self, paths: Sequence[Path]) -> np.ndarray:
        """Unit vectors, float32 ``(images, size)``."""
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
        missing = {
            digest: path for digest, path in zip(digests, paths, strict=True) if digest not in self.known
        }
        if missing:
            found = self._unit_vectors(list(missing.values()))
            self.known.update(zip(missing, found, strict=True))
            np.savez(self._file, allow_pickle=False, **self.known)
        return np.stack([self.known[digest] for digest in digests])

    def accuracy(self, train: dict[str, list[Path]], test: dict[str, list[Path]]) -> float:
        """Of a linear head, fitted to one set of class folders and tried on another, in percent."""
        head = LogisticRegression(C=10.0, max_iter=2000)
        labels = sorted(test)
        head.fit(*self._labelled(train, labels))
        return 100 * float(head.score(*self._labelled(test, labels)))

    def _labelled(
        self, folders: dict[str, list[Path]], labels: Iterable[str]
    ) -> tuple[np.ndarray, list[str]]:
        pairs = [(path, label) for label in labels for path in folders.get(label, [])]
        return self.features([path for path, _ in pairs]), [label for _, label in pairs]

    def _unit_vectors(self, paths: Sequence[Path]) -> np.ndarray:
        look = other_eyes(self.name)
        if look is None:
            raise SystemExit(f"no weights of {self.name}: set {DATA}")
        found = look([Image.open(path) for path in paths])
        return found / np.linalg.norm(found, axis=1, keepdims=True)
