"""CLIP's image side through open_clip, named ``clip`` or ``clip:MODEL[:TAG]``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import open_clip
from huggingface_hub import try_to_load_from_cache
from torch import Tensor, nn

from pcevolve.encoders import CLIP_FILES
from pcevolve.encoders.weights import absence_error, fit, read_state
from pcevolve.errors import ModelError, UsageError

_MODEL = "ViT-B-32"
_TAG = "laion2b_s34b_b79k"
_PREFIX = "visual."


class ClipImages(nn.Module):
    """The image side alone; embeddings have length 1, as CLIP was trained to compare them."""

    def __init__(self, visual: nn.Module) -> None:
        super().__init__()
        self.visual = visual

    def forward(self, pixels: Tensor) -> Tensor:
        """Embed float32 ``(batch, 3, height, width)``."""
        return nn.functional.normalize(self.visual(pixels), dim=-1)


def load_clip(name: str, path: Path | None) -> tuple[nn.Module, Callable[[Any], Tensor], int]:
    """Return the network, its preprocessing and its dimension.

    Args:
        name: ``clip``, ``clip:MODEL`` or ``clip:MODEL:TAG``; the tag also decides the activation
            and the preprocessing of weights that are given by path.
        path: State dict of the whole model in open_clip's names; None for the published weights.

    Raises:
        UsageError: open_clip has no such model.
        ModelError: The weights are not at hand or do not fit.
    """
    model_id, tag = parse_name(name)
    config = find_published(model_id, tag) if path is None else open_clip.get_pretrained_cfg(model_id, tag)
    path = path or _find_cached(config)
    if path is None:
        raise absence_error(name, f"{model_id} {tag}")
    state = read_state(path)
    model = open_clip.create_model(
        model_id,
        force_quick_gelu=bool(config.get("quick_gelu")),
        force_preprocess_cfg={key: config[key] for key in ("mean", "std", "interpolation") if key in config},
        pretrained_text=False,
    )
    images = {key.removeprefix(_PREFIX): value for key, value in state.items() if key.startswith(_PREFIX)}
    fit(model.visual, images, str(path))
    settings = open_clip.transform.PreprocessCfg(**open_clip.get_model_preprocess_cfg(model))
    preprocess = open_clip.transform.image_transform_v2(settings, is_train=False)
    return ClipImages(model.visual), preprocess, int(model.visual.output_dim)


def find_published(model_id: str, tag: str) -> dict[str, Any]:
    """Return open_clip's entry for published weights; ``ModelError`` where there are none of that name."""
    config: dict[str, Any] = open_clip.get_pretrained_cfg(model_id, tag)
    if not config:
        raise ModelError(
            f"open_clip publishes no weights {tag!r} for {model_id}: pass --set encoder.weights=PATH"
        )
    return config


def parse_name(name: str) -> tuple[str, str]:
    """Model and tag of a name; ``UsageError`` where open_clip has no such model."""
    parts = name.split(":")[1:]
    model_id = parts[0] if parts else _MODEL
    if len(parts) > 2 or model_id not in open_clip.list_models():
        raise UsageError(f"no encoder {name!r}: write clip:MODEL:TAG with a model and tag of open_clip")
    return model_id, parts[1] if len(parts) > 1 else _TAG


def _find_cached(config: dict[str, Any]) -> Path | None:
    for repository, file in _locations(config):
        cached = try_to_load_from_cache(repository, file)
        if isinstance(cached, str):
            return Path(cached)
    return None


def _locations(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Return repository and file names; open_clip joins both, with the file left out if it is usual."""
    *repository, file = str(config["hf_hub"]).split("/")
    return [("/".join(repository), name) for name in ((file,) if file else CLIP_FILES)]
