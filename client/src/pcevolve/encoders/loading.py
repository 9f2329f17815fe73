"""Build each encoder: architecture, weights by path or from its library, preprocessing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torchvision import models

from pcevolve.encoders import BUNDLED_FRAME, frame_digest
from pcevolve.encoders.frames import PublicFrame
from pcevolve.encoders.frozen import FrozenEncoder
from pcevolve.encoders.pixels import to_tensor
from pcevolve.encoders.weights import absent, fit, read_state
from pcevolve.errors import ModelError, UsageError

BUNDLED_SIDE = 64  # pixels
BUNDLED_DIMENSION = 128
_DEVICE_TYPES = frozenset({"cpu", "cuda", "mps"})

Parts = tuple[nn.Module, Callable[[Any], Tensor], int]


@dataclass(frozen=True)
class Vision:
    """A torchvision architecture, cut off before its classifier.

    Attributes:
        build: Makes the network without its head.
        published: torchvision's enum member of the published weights (file, preprocessing).
        dimension: Length of the features before the head.
        heads: State-dict prefixes of what was cut off.
    """

    build: Callable[[], nn.Module]
    published: Any
    dimension: int
    heads: tuple[str, ...]


def load(name: str, weights: str | None, device: str) -> FrozenEncoder:
    """Load an encoder; see ``load_encoder`` for the arguments and errors."""
    place = _device(device)
    path = None if weights is None else Path(weights).expanduser()
    if name == "bundled":
        network, preprocess, dimension = _bundled(path)
    elif name in VISION:
        network, preprocess, dimension = _torchvision(name, path)
    else:
        from pcevolve.encoders.clip import load_clip

        network, preprocess, dimension = load_clip(name, path)
    network.eval().requires_grad_(requires_grad=False)
    frame = PublicFrame.read(BUNDLED_FRAME, dimension) if frame_digest(name, weights) else None
    return FrozenEncoder(name, dimension, network.float().to(place), preprocess, place, frame)


def _bundled(path: Path | None) -> Parts:
    from pcevolve.encoders.bundled import BundledNet, load_bundled

    if path is not None:
        network = BundledNet()
        fit(network, read_state(path), str(path))
    else:
        try:
            network = load_bundled()
        except OSError:
            raise ModelError("encoder bundled: its weights are not installed: reinstall the client") from None
    return network, to_tensor(BUNDLED_SIDE), BUNDLED_DIMENSION


def _resnet18() -> nn.Module:
    network: nn.Module = models.resnet18(weights=None)
    network.fc = nn.Identity()
    return network


def _inception() -> nn.Module:
    network: nn.Module = models.inception_v3(
        weights=None, aux_logits=False, transform_input=True, init_weights=False
    )
    network.fc = nn.Identity()
    return network


def _vit() -> nn.Module:
    network: nn.Module = models.vit_b_16(weights=None)
    network.heads = nn.Identity()
    return network


VISION: Mapping[str, Vision] = {
    "resnet18": Vision(_resnet18, models.ResNet18_Weights.IMAGENET1K_V1, 512, ("fc.",)),
    "inception": Vision(_inception, models.Inception_V3_Weights.IMAGENET1K_V1, 2048, ("fc.", "AuxLogits.")),
    "vit": Vision(_vit, models.ViT_B_16_Weights.IMAGENET1K_V1, 768, ("heads.",)),
}


def _torchvision(name: str, path: Path | None) -> Parts:
    vision = VISION[name]
    state = read_state(path) if path else _published(name, vision)
    network = vision.build()
    fit(network, state, str(path or vision.published), vision.heads)
    return network, vision.published.transforms(), vision.dimension


def _published(name: str, vision: Vision) -> Mapping[str, Tensor]:
    cached = Path(torch.hub.get_dir()) / "checkpoints" / str(vision.published.url).rpartition("/")[2]
    if not cached.is_file():
        raise absent(name, str(vision.published))
    return read_state(cached)


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
