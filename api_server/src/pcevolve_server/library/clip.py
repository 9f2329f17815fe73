"""A text-image model of open_clip. It embeds a library's images once, and the prompts of callers."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import open_clip
import torch
from huggingface_hub import snapshot_download
from PIL import Image
from torch import Tensor, nn

from pcevolve_server import networks, sources
from pcevolve_server.errors import GenerationError, ModelLoadError
from pcevolve_server.library.embedding import Codes
from pcevolve_server.library.words import Vector, quantize
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.networks import LOAD_ERRORS

_SAFE, _PICKLED = "*.safetensors", ("*.bin", "*.pth")
_DESCRIBED = ("*.json", "*.txt", "*.model")  # configuration and tokenizer
_VERSION = 1  # of how images and codes are made


@dataclass(frozen=True)
class Clip:
    """An ``Embedder`` whose vectors can be compared with texts, in single precision.

    Attributes:
        name: Name of the weights, from their digest. Other weights have another index.
        size: Length of an embedding.
        network: In eval mode.
        pixels: Turns an image into the network's input.
        tokens: Turns texts into the network's input.
        device: The network's device.
    """

    name: str
    size: int
    network: nn.Module = field(repr=False)
    pixels: Callable[[Image.Image], Tensor] = field(repr=False)
    tokens: Callable[[list[str]], Tensor] = field(repr=False)
    device: torch.device

    def embed(self, image: Image.Image) -> Codes:
        """Return the direction of an image's embedding, uint8 ``(size,)``.

        Each image goes through the network alone, so its embedding does not depend on other images.

        Raises:
            GenerationError: The model's output is not finite.
        """
        with torch.inference_mode():
            rows = self.network.encode_image(self.pixels(image)[None].to(self.device))  # type: ignore[operator]
        return quantize(_unit(rows))

    def read(self, text: str) -> Vector:
        """Return a text's embedding, float32 ``(size,)`` of length 1. A text that is too long for the model is cut.

        Raises:
            GenerationError: The model's output is not finite.
        """
        with torch.inference_mode():
            return _unit(self.network.encode_text(self.tokens([text]).to(self.device)))  # type: ignore[operator]

    @property
    def memory(self) -> int:
        return networks.weight(self.network)


def _unit(rows: Tensor) -> Vector:
    if not rows.isfinite().all():
        raise GenerationError("the text-image model's output is NaN", code="not_finite")
    unit: Vector = nn.functional.normalize(rows.float(), dim=-1)[0].cpu().numpy()
    return unit


def load(settings: ModelSettings) -> Clip:
    """Load the text-image model ``settings.library_clip``.

    Raises:
        ModelLoadError: The model cannot be loaded. The message has its name and the next step.
    """
    logging.getLogger("open_clip").setLevel(logging.ERROR)
    networks.quieten()
    device = networks.find_device(settings.device)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    name = settings.library_clip
    try:
        folder = _folder(settings)
        weights = _weights(folder, settings.allow_pickle)
        network, pixels, tokens = _parts(folder, weights, device)
    except LOAD_ERRORS as error:
        raise ModelLoadError(sources.explain_failure(name, "text-image model", error)) from error
    size = int(network.visual.output_dim)
    return Clip(_name(folder, weights), size, network, pixels, tokens, device)


def _parts(
    folder: Path, weights: Path, device: torch.device
) -> tuple[Any, Callable[[Image.Image], Tensor], Any]:
    source = f"local-dir:{folder}"
    # open_clip would choose among several files, including pickled ones. It gets the file that is chosen here.
    network = open_clip.create_model(
        source, load_weights=False, pretrained_text=False, device=device, precision="fp32"
    )
    open_clip.load_checkpoint(network, str(weights))
    settings = open_clip.transform.PreprocessCfg(**open_clip.get_model_preprocess_cfg(network))
    pixels = open_clip.transform.image_transform_v2(settings, is_train=False)
    return network.eval(), pixels, open_clip.get_tokenizer(source)


def _folder(settings: ModelSettings) -> Path:
    """Return the model's directory, or the hub's copy, which is downloaded if that is allowed."""
    source = sources.locate(settings.library_clip)
    if Path(source).is_dir():
        return Path(source)
    wanted = [*_DESCRIBED, _SAFE, *(_PICKLED if settings.allow_pickle else ())]
    return Path(snapshot_download(source, allow_patterns=wanted, local_files_only=settings.offline))


def _weights(folder: Path, allow_pickle: bool) -> Path:
    """Return the file to load. Names of open_clip are preferred, because hub folders have files in other formats, too.

    Raises:
        FileNotFoundError: There is no file that may be read.
    """
    kinds = (_SAFE, *(_PICKLED if allow_pickle else ()))
    found = [path for kind in kinds for path in sorted(folder.glob(kind))]
    if not found:
        raise FileNotFoundError(f"no weights {' or '.join(kinds)} in {folder}")
    return min(
        found, key=lambda path: not path.name.startswith("open_clip")
    )  # the first of equals: safetensors


def _name(folder: Path, weights: Path) -> str:
    digest = hashlib.sha256((folder / sources.CLIP_CONFIG).read_bytes())
    with weights.open("rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"clip-{_VERSION}-{digest.hexdigest()[:16]}"
