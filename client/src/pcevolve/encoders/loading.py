"""Build each encoder: architecture, weights by path or from its library, preprocessing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pcevolve.encoders import BUNDLED, BUNDLED_FRAMES, SPECTRAL, TRANSFORMER, VISION, Encoder, frame_digest
from pcevolve.encoders.frames import PublicFrame
from pcevolve.encoders.frozen import FrozenEncoder
from pcevolve.encoders.pixels import to_tensor
from pcevolve.encoders.spectrum import WithSpectrum
from pcevolve.encoders.weights import fit, read_state
from pcevolve.errors import ModelError, UsageError

BUNDLED_SIDE = 64  # pixels
_DEVICE_TYPES = frozenset({"cpu", "cuda", "mps"})

Parts = tuple[nn.Module, Callable[[Any], Tensor], int]


def load(name: str, weights: str | None, device: str) -> Encoder:
    """Load an encoder; see ``load_encoder`` for the arguments and errors."""
    if name.startswith(TRANSFORMER):
        from pcevolve.encoders.transformer import load_transformer

        return load_transformer(name, weights, _device(device))
    if name != SPECTRAL:
        return _frozen(name, weights, device)
    inner = _frozen(BUNDLED, weights, device)
    widened = WithSpectrum(name, inner, None)
    return replace(widened, frame=_frame(name, weights, widened.dimension))


def _frozen(name: str, weights: str | None, device: str) -> FrozenEncoder:
    place = _device(device)
    path = None if weights is None else Path(weights).expanduser()
    if name == BUNDLED:
        network, preprocess, dimension = _load_bundled(path)
    elif name in VISION:
        # Torchvision takes as long to import as torch itself.
        from pcevolve.encoders.vision import load_vision

        network, preprocess, dimension = load_vision(name, path)
    else:
        from pcevolve.encoders.clip import load_clip

        network, preprocess, dimension = load_clip(name, path)
    network.eval().requires_grad_(requires_grad=False)
    frame = _frame(name, weights, dimension)
    return FrozenEncoder(name, dimension, network.float().to(place), preprocess, place, frame)


def _frame(name: str, weights: str | None, dimension: int) -> PublicFrame | None:
    """The frame that an encoder brings, if it brings one."""
    return PublicFrame.read(BUNDLED_FRAMES[name], dimension) if frame_digest(name, weights) else None


def _load_bundled(path: Path | None) -> Parts:
    from pcevolve.encoders.bundled import EMBEDDING_SIZE, BundledNet, load_bundled

    if path is not None:
        network = BundledNet()
        fit(network, read_state(path), str(path))
    else:
        try:
            network = load_bundled()
        except OSError:
            raise ModelError("encoder bundled: its weights are not installed: reinstall the client") from None
    return network, to_tensor(BUNDLED_SIDE), EMBEDDING_SIZE


def gpu() -> str:
    """The name of the GPU that ``auto`` takes; empty if there is none."""
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else ""


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in _DEVICE_TYPES:
        raise UsageError(f"no device {name!r}: use cpu, cuda or auto")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("device cuda asked for and none found: use cpu or auto")
    return device
