"""Encoders computed by torch: architecture, weights by path or from a library, preprocessing.

torchvision's architectures are used without their classifier, with its published weights and preprocessing. Of
open_clip's CLIP models only the image side is used, under the name ``clip`` or ``clip:MODEL[:TAG]``. Images are
embedded one at a time, for the reason given in ``singly.embed_each``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pcevolve.errors import ModelError, UsageError
from pcevolve.public.encoders import CLIP_FILES, TRANSFORMER, VISION, Encoder
from pcevolve.public.encoders.files import PublicFrame, absence_error, fit, read_state
from pcevolve.public.encoders.pretrained import load_pretrained
from pcevolve.public.encoders.singly import embed_each
from pcevolve.public.media.images.decoding import DecodedImage
from pcevolve.public.media.texts import Text


@dataclass(frozen=True, eq=False)
class FrozenEncoder:
    """An ``Encoder`` around a torch network in eval mode.

    Attributes:
        network: Maps float32 ``(1, 3, height, width)`` to ``(1, dimension)``.
        preprocess: Maps a square RGB image to float32 ``(3, height, width)``, without statistics of a set of images.
        frame: The public frame of its embeddings, if known.
    """

    name: str
    dimension: int
    network: nn.Module = field(repr=False)
    preprocess: Callable[[DecodedImage], Any] = field(repr=False)
    device: torch.device
    frame: PublicFrame | None = None

    def embed(self, images: Sequence[DecodedImage | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, dimension)``. A row is NaN if the image or its embedding is unusable."""
        threads = None if self.device.type == "cpu" else 1
        return embed_each(images, self.preprocess, self._forward, self.dimension, threads)

    def _forward(self, pixels: Tensor | NDArray[np.float32]) -> NDArray[np.float32]:
        with (
            torch.inference_mode(),
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False),
        ):
            embedding: Tensor = self.network(torch.as_tensor(pixels)[None].to(self.device))
        return embedding[0].float().cpu().numpy()


Parts = tuple[nn.Module, Callable[[Any], Tensor], int]
_ARCHITECTURES = {
    "inception": "inception_v3",
    "vit": "vit_b_16",
    "vit-b32": "vit_b_32",
    "vit-l16": "vit_l_16",
    "vit-l32": "vit_l_32",
}
"""torchvision's names of encoders that have another name here."""


def load(name: str, weights: str | None, device: str) -> Encoder:
    """Load an encoder that torch computes. Arguments and errors as in ``load_encoder``."""
    place = _device(device)
    if name.startswith(TRANSFORMER):
        return load_transformer(name, weights, place)
    path = None if weights is None else Path(weights).expanduser()
    if name in VISION:
        network, preprocess, dimension = _load_vision(name, path)
    else:
        network, preprocess, dimension = load_clip(name, path)
    network.eval().requires_grad_(requires_grad=False)
    return FrozenEncoder(name, dimension, network.float().to(place), preprocess, place)


def find_vision_weights(name: str) -> Any:  # noqa: ANN401 - torchvision has no types
    """Return torchvision's enum member for an encoder's published weights: file and preprocessing."""
    from torchvision import models  # takes as long to import as torch itself

    return models.get_model_weights(_ARCHITECTURES.get(name, name)).IMAGENET1K_V1


def _load_vision(name: str, path: Path | None) -> Parts:
    """Return a network without its head, its preprocessing and its dimension. Errors as in ``load``."""
    from torchvision import models

    published = find_vision_weights(name)
    path = path or Path(torch.hub.get_dir()) / "checkpoints" / str(published.url).rpartition("/")[2]
    # ``read_state`` reports a missing file that the user named.
    if not path.exists() and path.parent.name == "checkpoints":
        raise absence_error(name, str(published))
    options = (
        {"aux_logits": False, "transform_input": True, "init_weights": False} if name == "inception" else {}
    )
    network: nn.Module = models.get_model(_ARCHITECTURES.get(name, name), weights=None, **options)
    head = "heads" if hasattr(network, "heads") else "fc"
    dimension = next(
        each.in_features for each in getattr(network, head).modules() if isinstance(each, nn.Linear)
    )
    setattr(network, head, nn.Identity())
    fit(network, read_state(path), str(path), (f"{head}.", "AuxLogits."))
    return network, published.transforms(), dimension


def find_gpu() -> str:
    """Return the name of the GPU that ``auto`` uses, or an empty string if there is none."""
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


LONGEST: Final = 512
"""Largest number of tokens of a text that are read. The rest is cut off."""


@dataclass(frozen=True, eq=False)
class TransformerEncoder:
    """An ``Encoder`` of texts, named by a hub id: a published transformer, averaged over tokens.

    Each text is embedded separately, so its embedding depends on this text alone.
    """

    name: str
    dimension: int
    network: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    device: torch.device
    frame: PublicFrame | None = None

    def embed(self, texts: Sequence[Text | None]) -> NDArray[np.float64]:
        """Return float64 ``(texts, dimension)``: rows of length 1, exact in float32, or NaN without text or token."""
        return np.array([self._one(each) for each in texts], dtype=np.float64).reshape(-1, self.dimension)

    @torch.inference_mode()
    def _one(self, text: Text | None) -> NDArray[np.float64]:
        nothing: NDArray[np.float64] = np.full(self.dimension, np.nan)
        longest = min(LONGEST, int(getattr(self.tokenizer, "model_max_length", LONGEST)))
        found = self.tokenizer(text or "", truncation=True, max_length=longest, return_tensors="pt")
        if not text or not found["input_ids"].numel():
            return nothing
        states = self.network(
            **{name: each.to(self.device) for name, each in found.items()}
        ).last_hidden_state
        mean = states[0].double().mean(dim=0)
        length = float(torch.linalg.vector_norm(mean))
        embedding: NDArray[np.float64] = (mean / length).float().double().cpu().numpy() if length else nothing
        return embedding


def load_transformer(name: str, weights: str | None, device: torch.device) -> TransformerEncoder:
    """Load a transformer from a directory or its library's cache. Nothing is downloaded.

    Raises:
        ModelError: The library or the files are missing.
    """
    hub_id = name.removeprefix(TRANSFORMER)
    who, option = f"encoder {name}", "--set encoder.weights="
    network, tokenizer = load_pretrained(who, weights or hub_id, hub_id, option, "AutoModel", "AutoTokenizer")
    dimension = int(network.config.hidden_size)
    return TransformerEncoder(name, dimension, network.float().to(device), tokenizer, device)


_CLIP = "ViT-B-32"
_TAG = "laion2b_s34b_b79k"


class ClipImages(nn.Module):
    """CLIP's image side. Embeddings have length 1, as in CLIP's training."""

    def __init__(self, visual: nn.Module) -> None:
        super().__init__()
        self.visual = visual

    def forward(self, pixels: Tensor) -> Tensor:
        """Embed float32 ``(batch, 3, height, width)``."""
        return nn.functional.normalize(self.visual(pixels), dim=-1)


def load_clip(name: str, path: Path | None) -> tuple[nn.Module, Callable[[Any], Tensor], int]:
    """Return the network, its preprocessing and its dimension.

    Args:
        name: ``clip``, ``clip:MODEL`` or ``clip:MODEL:TAG``. For weights that are given by path, the tag still
            decides the activation and the preprocessing.
        path: State dict of the complete model in open_clip's names. None for the published weights.

    Raises:
        UsageError: open_clip has no such model.
        ModelError: The weights are missing or do not fit.
    """
    import open_clip  # takes seconds to import, as the next does
    from huggingface_hub import try_to_load_from_cache

    model_id, tag = parse_clip_name(name)
    config = find_clip_weights(model_id, tag) if path is None else open_clip.get_pretrained_cfg(model_id, tag)
    cached = (try_to_load_from_cache(*each) for each in _locations(config)) if path is None else ()
    path = path or next((Path(each) for each in cached if isinstance(each, str)), None)
    if path is None:
        raise absence_error(name, f"{model_id} {tag}")
    state = read_state(path)
    model = open_clip.create_model(
        model_id,
        force_quick_gelu=bool(config.get("quick_gelu")),
        force_preprocess_cfg={key: config[key] for key in ("mean", "std", "interpolation") if key in config},
        pretrained_text=False,
    )
    images = {key.removeprefix("visual."): value for key, value in state.items() if key.startswith("visual.")}
    fit(model.visual, images, str(path))
    settings = open_clip.transform.PreprocessCfg(**open_clip.get_model_preprocess_cfg(model))
    preprocess = open_clip.transform.image_transform_v2(settings, is_train=False)
    return ClipImages(model.visual), preprocess, int(model.visual.output_dim)


def find_clip_weights(model_id: str, tag: str) -> dict[str, Any]:
    """Return open_clip's entry for published weights (``ModelError`` if the name is unknown)."""
    import open_clip

    config: dict[str, Any] = open_clip.get_pretrained_cfg(model_id, tag)
    if not config:
        raise ModelError(
            f"open_clip publishes no weights {tag!r} for {model_id}: pass --set encoder.weights=PATH"
        )
    return config


def parse_clip_name(name: str) -> tuple[str, str]:
    """Split a name into model and tag (``UsageError`` if open_clip has no such model)."""
    import open_clip

    parts = name.split(":")[1:]
    model_id = parts[0] if parts else _CLIP
    if len(parts) > 2 or model_id not in open_clip.list_models():
        raise UsageError(f"no encoder {name!r}: write clip:MODEL:TAG with a model and tag of open_clip")
    return model_id, parts[1] if len(parts) > 1 else _TAG


def _locations(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Return repositories and file names. open_clip joins both, and omits a file with a usual name."""
    *repository, file = str(config["hf_hub"]).split("/")
    return [("/".join(repository), name) for name in ((file,) if file else CLIP_FILES)]
