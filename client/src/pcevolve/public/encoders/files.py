"""Files from which an encoder is made, state dicts and public frames, read and checked as data.

No code from a file is run. A public frame describes an encoder's embeddings of public images and ships with the
encoder. Any frame is safe, because private points are clipped to its radius. A run's public plan identifies its
frame by digest.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load

from pcevolve.errors import ModelError

if TYPE_CHECKING:  # safetensors are read without torch
    from torch import Tensor, nn


_FORMAT_ERRORS = (
    SafetensorError,
    pickle.UnpicklingError,
    RuntimeError,
    EOFError,
    ValueError,
    KeyError,
    BadZipFile,
)


def absence_error(encoder: str, weights: str) -> ModelError:
    """Return the error for missing published weights. A run downloads nothing."""
    return ModelError(
        f"encoder {encoder}: weights {weights} are not on this machine: run `pcevolve fetch-encoder {encoder}` "
        "first (it reads no private data), or pass --set encoder.weights=PATH "
        f"(a judge: --judge {encoder}=PATH), or use bundled"
    )


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read a state dict as arrays. Only torch's own format needs torch. Errors as in ``read_state``."""
    if path.suffix != ".safetensors":
        return {name: value.float().numpy() for name, value in read_state(path).items()}
    return {name: np.asarray(value) for name, value in _safe(path, "numpy").items()}


def read_state(path: Path) -> dict[str, Tensor]:
    """Read a state dict: safetensors if the file has this suffix, otherwise torch's format restricted to tensors.

    Raises:
        ModelError: The file is missing, is damaged, contains code, or contains no state dict.
    """
    if path.suffix == ".safetensors":
        return _safe(path, "pt")
    import torch

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise ModelError(f"encoder weights {path}: {error.strerror or 'cannot be read'}") from None
    except _FORMAT_ERRORS:
        raise _unreadable(path) from None
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ModelError(f"encoder weights {path}: not a state dict of tensors; save model.state_dict()")
    return dict(state)


def _safe(path: Path, framework: str) -> dict[str, Any]:
    """Return the tensors of a safetensors file as arrays of the given framework."""
    try:
        with safe_open(path, framework=framework) as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except OSError as error:
        raise ModelError(f"encoder weights {path}: {error.strerror or 'cannot be read'}") from None
    except _FORMAT_ERRORS:
        raise _unreadable(path) from None


def _unreadable(path: Path) -> ModelError:
    return ModelError(f"encoder weights {path}: not a safetensors file or a torch state dict")


def fit(network: nn.Module, state: Mapping[str, Tensor], source: str, unused: tuple[str, ...] = ()) -> None:
    """Copy ``state`` into ``network``.

    Args:
        state: Must have exactly the network's names and shapes.
        unused: Prefixes of entries to skip: the heads that the encoder does not use.

    Raises:
        ModelError: Names or shapes differ. The message counts the differences and names one.
    """
    given = {name: value for name, value in state.items() if not name.startswith(unused)}
    wanted = network.state_dict()
    wrong = sorted(
        name
        for name in given.keys() | wanted.keys()
        if name not in given or name not in wanted or given[name].shape != wanted[name].shape
    )
    if wrong:
        raise ModelError(f"encoder weights {source}: {len(wrong)} tensors do not fit, such as {wrong[0]!r}")
    network.load_state_dict(given)


ROUNDING = 0.05
"""Tolerance of the axes' inner products, because axes are rounded to 1/512."""


@dataclass(frozen=True, eq=False)
class PublicFrame:
    """Centre, axes and spread of an encoder's embeddings of public images.

    Attributes:
        digest: SHA-256 of the file, hex.
        centre: float64 ``(d,)``.
        axes: float64 ``(d, k)``. The columns are orthonormal up to rounding, in descending order of variance.
        variances: float64 ``(k,)`` > 0, along the axes.
        radii: float64 ``(k,)`` > 0. Entry j - 1 is the median norm of coordinates on the first j axes.
        parts: Frames of concatenated embeddings, in order. If there are parts, only the joint frame's digest and
            centre are set.
    """

    digest: str
    centre: NDArray[np.float64]
    axes: NDArray[np.float64]
    variances: NDArray[np.float64]
    radii: NDArray[np.float64]
    parts: tuple[PublicFrame, ...] = ()

    def scale(self, unit: float) -> PublicFrame:
        """Return the frame of embeddings that are multiplied by a power of two."""
        return replace(
            self, centre=self.centre * unit, variances=self.variances * unit**2, radii=self.radii * unit
        )

    @classmethod
    def join(cls, digest: str, parts: tuple[PublicFrame, ...]) -> Self:
        """Return the frame of concatenated embeddings."""
        nothing: NDArray[np.float64] = np.zeros(0)
        centre = np.concatenate([each.centre for each in parts])
        return cls(digest, centre, np.zeros((len(centre), 0)), nothing, nothing, parts)

    @classmethod
    def read(cls, path: Path, dimension: int) -> Self:
        """Read an encoder's frame (``ModelError`` if the file is unreadable or is not a frame)."""
        try:
            data = path.read_bytes()
            arrays = {name: np.asarray(array, dtype=np.float64) for name, array in load(data).items()}
        except (OSError, SafetensorError, ValueError, TypeError, KeyError):
            raise ModelError(f"the public frame {path.name} cannot be read: reinstall the client") from None
        if not _is_frame(arrays, dimension):
            raise ModelError(f"{path.name} is not a public frame for embeddings of length {dimension}")
        digest = hashlib.sha256(data).hexdigest()
        return cls(digest, arrays["centre"], arrays["axes"], arrays["variances"], arrays["radii"])


def _is_frame(arrays: dict[str, NDArray[np.float64]], dimension: int) -> bool:
    """Return True if these are the arrays of a frame: consistent shapes and finite values."""
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
