"""What a dataset is worth to encoders that took no part in choosing it: linear heads on MobileNetV2 and SqueezeNet.

The weights are ONNX files that are no part of the project; ``onnxruntime`` runs them on one thread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.linear_model import LogisticRegression

FILES = {
    "mobilenet": "mobilenet_v2_imagenet/mobilenet_v2_1.0_224.onnx",
    "squeezenet": "squeezenet/squeezenet_v1.1_imagenet_notop.onnx",
}
BGR_MEAN = np.array([103.939, 116.779, 123.68], np.float32)
SIDES = {"mobilenet": 224, "squeezenet": 227}
BATCH = 16


@dataclass
class Judge:
    """A frozen encoder; what it made of an image is remembered by the image's bytes."""

    name: str
    weights: Path
    cache: Path
    known: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        path = str(self.weights / FILES[self.name])
        if self._file.exists():
            with np.load(self._file) as kept:
                self.known.update(kept)
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    @property
    def _file(self) -> Path:
        return self.cache / f"{self.name}.npz"

    def features(self, paths: Sequence[Path]) -> np.ndarray:
        """Unit vectors, float32 ``(images, size)``."""
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
        missing = {
            digest: path for digest, path in zip(digests, paths, strict=True) if digest not in self.known
        }
        for start in range(0, len(missing), BATCH):
            some = list(missing.items())[start : start + BATCH]
            found = self._run(np.stack([self._pixels(path) for _, path in some]))
            self.known.update(zip((digest for digest, _ in some), found, strict=True))
        if missing:
            np.savez(self._file, **self.known)
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

    def _pixels(self, path: Path) -> np.ndarray:
        image = Image.open(path).convert("RGB")
        side = min(image.size)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        square = image.crop((left, top, left + side, top + side))
        size = (SIDES[self.name],) * 2
        pixels = np.asarray(square.resize(size, Image.Resampling.BILINEAR), np.float32)
        return pixels / 127.5 - 1 if self.name == "mobilenet" else pixels[..., ::-1] - BGR_MEAN

    def _run(self, pixels: np.ndarray) -> np.ndarray:
        given = {self._session.get_inputs()[0].name: np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))}
        (found,) = self._session.run([self._session.get_outputs()[0].name], given)
        flat = found.reshape(len(found), -1)
        return flat / np.linalg.norm(flat, axis=1, keepdims=True)
