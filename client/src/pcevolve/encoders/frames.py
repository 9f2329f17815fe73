"""Public frames: what an encoder's embeddings of public images look like, shipped with the encoder.

A frame is data from a file and is checked as such. Any frame is safe, because whoever uses it clips to its radius;
which one was used is named by digest in a run's public plan.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from pcevolve.errors import ModelError

ROUNDING = 0.05
"""How far products of axes may be from those of orthonormal ones, because axes are rounded to 1/512."""


@dataclass(frozen=True, eq=False)
class PublicFrame:
    """Centre, axes and spread of an encoder's embeddings of public images.

    Attributes:
        digest: SHA-256 of the file, hex.
        centre: float64 ``(d,)``.
        axes: float64 ``(d, k)``, orthonormal columns but for rounding, in falling order of variance.
        variances: float64 ``(k,)`` > 0, along the axes.
        radii: float64 ``(k,)`` > 0: at place j - 1 the median norm of coordinates on the first j axes.
    """

    digest: str
    centre: NDArray[np.float64]
    axes: NDArray[np.float64]
    variances: NDArray[np.float64]
    radii: NDArray[np.float64]

    @classmethod
    def read(cls, path: Path, dimension: int) -> Self:
        """Read the frame of an encoder; ``ModelError`` for a file that cannot be read, or holds anything else."""
        try:
            data = path.read_bytes()
            arrays = {name: np.asarray(array, dtype=np.float64) for name, array in load(data).items()}
        except (OSError, SafetensorError, ValueError, TypeError, KeyError):
            raise ModelError(f"the public frame {path.name} cannot be read: reinstall the client") from None
        if not _is_frame(arrays, dimension):
            raise ModelError(f"{path.name} is no public frame of embeddings of length {dimension}")
        return cls(hashlib.sha256(data).hexdigest(), **arrays)


def _is_frame(arrays: dict[str, NDArray[np.float64]], dimension: int) -> bool:
    """True if these are the arrays of a frame, of the shapes that go together and with finite values."""
    if arrays.keys() != {"centre", "axes", "variances", "radii"} or arrays["axes"].ndim != 2:
        return False
    most = arrays["axes"].shape[1]
    shapes = {"centre": (dimension,), "axes": (dimension, most), "variances": (most,), "radii": (most,)}
    fits = all(arrays[name].shape == shape for name, shape in shapes.items())
    finite = all(bool(np.isfinite(array).all()) for array in arrays.values())
    if not (fits and finite and most > 0):
        return False
    skew = np.abs(arrays["axes"].T @ arrays["axes"] - np.eye(most)).max()
    spread = np.concatenate([arrays["variances"], arrays["radii"]])
    return bool(skew <= ROUNDING and (spread > 0).all())
