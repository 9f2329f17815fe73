"""Encoders whose architecture, published weights and preprocessing are torchvision's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torchvision import models

from pcevolve.encoders.weights import absence_error, fit, read_state


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


def _resnet(layers: int) -> nn.Module:
    network: nn.Module = getattr(models, f"resnet{layers}")(weights=None)
    network.fc = nn.Identity()
    return network


def _inception() -> nn.Module:
    network: nn.Module = models.inception_v3(
        weights=None, aux_logits=False, transform_input=True, init_weights=False
    )
    network.fc = nn.Identity()
    return network


def _vit(size: str) -> nn.Module:
    network: nn.Module = getattr(models, f"vit_{size}")(weights=None)
    network.heads = nn.Identity()
    return network


ARCHITECTURES: Mapping[str, Vision] = {
    "resnet18": Vision(partial(_resnet, 18), models.ResNet18_Weights.IMAGENET1K_V1, 512, ("fc.",)),
    "resnet34": Vision(partial(_resnet, 34), models.ResNet34_Weights.IMAGENET1K_V1, 512, ("fc.",)),
    "resnet50": Vision(partial(_resnet, 50), models.ResNet50_Weights.IMAGENET1K_V1, 2048, ("fc.",)),
    "resnet101": Vision(partial(_resnet, 101), models.ResNet101_Weights.IMAGENET1K_V1, 2048, ("fc.",)),
    "resnet152": Vision(partial(_resnet, 152), models.ResNet152_Weights.IMAGENET1K_V1, 2048, ("fc.",)),
    "inception": Vision(_inception, models.Inception_V3_Weights.IMAGENET1K_V1, 2048, ("fc.", "AuxLogits.")),
    "vit": Vision(partial(_vit, "b_16"), models.ViT_B_16_Weights.IMAGENET1K_V1, 768, ("heads.",)),
    "vit-b32": Vision(partial(_vit, "b_32"), models.ViT_B_32_Weights.IMAGENET1K_V1, 768, ("heads.",)),
    "vit-l16": Vision(partial(_vit, "l_16"), models.ViT_L_16_Weights.IMAGENET1K_V1, 1024, ("heads.",)),
    "vit-l32": Vision(partial(_vit, "l_32"), models.ViT_L_32_Weights.IMAGENET1K_V1, 1024, ("heads.",)),
}


def load_vision(name: str, path: Path | None) -> tuple[nn.Module, Callable[[Any], Tensor], int]:
    """A network without its head, its preprocessing, and the length of its features.

    Raises:
        ModelError: The weights are not at hand or do not fit.
    """
    vision = ARCHITECTURES[name]
    state = read_state(path) if path else _load_published(name, vision)
    network = vision.build()
    fit(network, state, str(path or vision.published), vision.heads)
    return network, vision.published.transforms(), vision.dimension


def _load_published(name: str, vision: Vision) -> Mapping[str, Tensor]:
    path = Path(torch.hub.get_dir()) / "checkpoints" / str(vision.published.url).rpartition("/")[2]
    if not path.is_file():
        raise absence_error(name, str(vision.published))
    return read_state(path)
