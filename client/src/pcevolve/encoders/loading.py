"""Build encoders that torch computes: architecture, weights by path or from a library, preprocessing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pcevolve.encoders import TRANSFORMER, VISION, Encoder
from pcevolve.encoders.frozen import FrozenEncoder
from pcevolve.errors import UsageError

Parts = tuple[nn.Module, Callable[[Any], Tensor], int]


def load(name: str, weights: str | None, device: str) -> Encoder:
    """Load an encoder that torch computes; see ``load_encoder`` for the arguments and errors."""
    place = _device(device)
    if name.startswith(TRANSFORMER):
        from pcevolve.encoders.transformer import load_transformer

        return load_transformer(name, weights, place)
    path = None if weights is None else Path(weights).expanduser()
    if name in VISION:
        # Torchvision takes as long to import as torch itself.
        from pcevolve.encoders.vision import load_vision

        network, preprocess, dimension = load_vision(name, path)
    else:
        from pcevolve.encoders.clip import load_clip

        network, preprocess, dimension = load_clip(name, path)
    network.eval().requires_grad_(requires_grad=False)
    return FrozenEncoder(name, dimension, network.float().to(place), preprocess, place)


def gpu() -> str:
    """The name of the GPU that ``auto`` takes; empty if there is none."""
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else ""


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"no device {name!r}: use cpu, cuda or auto") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("device cuda asked for and none found: use cpu or auto")
    return device
