"""Additions to a model's weights: LoRAs, words of textual inversion, and an IP-Adapter for image prompts.

LoRA: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models" (arXiv 2106.09685). A LoRA is added
to the weights once. Afterwards the model is as fast, and as independent of the batch, as before.

Textual inversion: Gal et al. 2022, "An Image is Worth One Word: Personalizing Text-to-Image Generation using
Textual Inversion" (arXiv 2208.01618). Three kinds of files are read: those of diffusers (a vector under its
word), those of AUTOMATIC1111's web UI (``emb_params``, or ``string_to_param`` in a pickle), and those of SDXL's
trainers (``clip_l`` and ``clip_g``, one for each encoder).

IP-Adapter: Ye et al. 2023, "IP-Adapter: Text Compatible Image Prompt Adapter" (arXiv 2308.06721).
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from diffusers import DiffusionPipeline
from diffusers.loaders import TextualInversionLoaderMixin
from diffusers.models import ImageProjection
from huggingface_hub import hf_hub_download
from peft.tuners.tuners_utils import BaseTunerLayer
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor
from transformers import CLIPVisionModelWithProjection

from pcevolve_server import sources
from pcevolve_server.diffusion import parts
from pcevolve_server.diffusion.families import family_of
from pcevolve_server.diffusion.traits import is_doubled
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import Embedding, Lora, ModelSettings
from pcevolve_server.networks import LOAD_ERRORS
from pcevolve_server.work import Recipe

logger = logging.getLogger(__name__)

_SAFE = ".safetensors"
_USUAL_NAME = "pytorch_lora_weights.safetensors"
_ADAPTER = "lora"


def add_lora(lora: Lora, pipeline: DiffusionPipeline, settings: ModelSettings) -> None:
    """Add ``lora`` to the weights of ``pipeline``.

    Args:
        pipeline: The denoiser changes. The text encoders change too if the LoRA has parts for them.

    Raises:
        ModelLoadError: The file is missing, or does not fit this model.
    """
    if not hasattr(pipeline, "load_lora_weights"):
        raise ModelLoadError(f"{type(pipeline).__name__} does not support LoRAs: leave out --lora")
    folder, name = _tensor_at(lora.source, settings)
    misfit = f"the LoRA {lora.source} does not fit {settings.model}"
    where = {
        "weight_name": name,
        "use_safetensors": None if settings.allow_pickle else True,
        "local_files_only": settings.offline,
    }
    try:
        with parts.hear("diffusers.loaders.lora_pipeline") as said:
            found = pipeline.lora_state_dict(folder, **where)
            pipeline.load_lora_weights(folder, adapter_name=_ADAPTER, **where)
    except LOAD_ERRORS as error:
        raise ModelLoadError(sources.explain_failure(lora.source, "LoRA", error)) from error
    if any("dora_scale" in each for each in said):  # which the library leaves out, and goes on
        raise ModelLoadError(
            f"the LoRA {lora.source} is a DoRA, which diffusers supports only in part: convert it to a LoRA"
        )
    changed = sorted(part for part, names in pipeline.get_list_adapters().items() if _ADAPTER in names)
    if not changed:
        raise ModelLoadError(f"{misfit}: the file has no weights for this model's networks")
    modules = (module for part in changed for module in getattr(pipeline, part).modules())
    layers = sum(isinstance(module, BaseTunerLayer) for module in modules)
    weights = found[0] if isinstance(found, tuple) else found
    meant = sum(
        "lora_A." in name or ".down." in name for name in weights
    )  # the first of each layer's two matrices
    # Layers are counted, because the library skips unknown layers silently.
    if layers < meant / 2:
        raise ModelLoadError(f"{misfit}: the model has {layers} of the {meant} layers that the LoRA changes")
    if layers < meant:
        logger.warning(
            "the model has only some of the LoRA's layers",
            extra={"lora": lora.source, "layers": layers, "of": meant},
        )
    if lora.scale:
        pipeline.fuse_lora(changed, lora_scale=lora.scale, adapter_names=[_ADAPTER])
    # The LoRA is merged into the weights. A separate adapter would cost time in every step, and would round
    # differently in a batch.
    pipeline.unload_lora_weights()
    logger.info("lora added", extra={"lora": lora.source, "scale": lora.scale, "parts": changed})


def _tensor_at(source: str, settings: ModelSettings) -> tuple[str, str | None]:
    """Return the directory or hub id, and the name of the file in it. The name is None if the library may search."""
    path = Path(source).expanduser()
    if path.is_dir():
        return str(path), None if settings.allow_pickle else _only_weights(path, _USUAL_NAME, "LoRA")
    if path.is_file():
        _require_safe(path, "LoRA", settings)
        return str(path.parent), path.name
    return sources.locate(source), _USUAL_NAME if settings.offline else None


def _require_safe(file: Path, what: str, settings: ModelSettings) -> None:
    if file.suffix != _SAFE and not settings.allow_pickle:
        raise ModelLoadError(
            f"the {what} {file} is not a {_SAFE} file, so loading it could run code: if you trust its author, add"
            " --allow-pickle"
        )


def _only_weights(folder: Path, usual: str, what: str) -> str:
    """Return the name of a folder's only weight file, or ``usual`` if the folder has a file of that name.

    Args:
        what: The kind of file, for the error message.

    Raises:
        ModelLoadError: The folder has no weight file, or several and none is called ``usual``.
    """
    names = sorted(path.name for path in folder.glob(f"*{_SAFE}"))
    if usual in names:
        return usual
    if len(names) != 1:
        found = f"{len(names)} of them: name one" if names else "none"
        raise ModelLoadError(f"the {what} {folder}: a directory needs one {_SAFE} file, and has {found}")
    return names[0]


_USUAL_WORD: Final = "learned_embeds"
_NAMELESS: Final = ("emb_params", "*")
"""Keys that some files use instead of the word."""
_ENCODERS: Final = {"clip_l": "", "clip_g": "_2"}
"""For SDXL's keys: the suffixes of the pipeline parts that use their vectors."""


def add_textual_inversion(embedding: Embedding, pipeline: DiffusionPipeline, settings: ModelSettings) -> None:
    """Add a word of textual inversion to a pipeline.

    Raises:
        ModelLoadError: The file is missing, or does not fit this model.
    """
    if not hasattr(pipeline, "load_textual_inversion"):
        raise ModelLoadError(
            f"{type(pipeline).__name__} does not support textual inversions: leave out --embedding"
        )
    try:
        file = _inversion_file(embedding.source, settings)
        found = _vectors(file)
        word = found.pop("word", None)
        word = embedding.word or word or file.stem
        _require_fit(found, pipeline)
        for end, vectors in found.items():
            tokenizer, encoder = (getattr(pipeline, f"{part}{end}") for part in ("tokenizer", "text_encoder"))
            pipeline.load_textual_inversion(vectors, token=word, tokenizer=tokenizer, text_encoder=encoder)
            others = (f"{word}_{number}" for number in range(1, len(vectors) if vectors.ndim > 1 else 1))
            tokenizer.taught = getattr(tokenizer, "taught", {}) | {word.lower(): " ".join([word, *others])}
    except LOAD_ERRORS as error:
        raise ModelLoadError(sources.explain_failure(embedding.source, "embedding", error)) from error
    logger.info("embedding added", extra={"embedding": embedding.source, "word": word})


def _require_fit(found: dict[str, Tensor], pipeline: DiffusionPipeline) -> None:
    """Refuse vectors that do not fit a model's text encoders, or are not finite.

    Raises:
        ValueError: The vectors are for another family of models, or are damaged.
    """
    has = {"", "_2"} if family_of(type(pipeline).__name__).encoders > 1 else {""}
    if found.keys() != has:
        raise ValueError(
            f"it has vectors for {len(found)} text encoder(s), but the model has {len(has)}, so the file was made"
            f" for {'another' if len(has) > 1 else 'SDXL or another'} family of models"
        )
    for vectors in found.values():
        if not torch.isfinite(vectors).all():
            raise ValueError("its vectors hold NaN or infinite values: the file is damaged")


def _write_out(_: DiffusionPipeline, prompt: str, tokenizer: Any) -> str:  # noqa: ANN401
    """Replace each added word, in upper or lower case, by its tokens. If words overlap, the longest is replaced.

    Then the tokenizer reads each vector. The library's own method is not used: it knows one spelling only, and
    replaces words within earlier replacements in an order that differs between processes.
    """
    taught: dict[str, str] = getattr(tokenizer, "taught", {})
    words = "|".join(map(re.escape, sorted(taught, key=len, reverse=True)))
    return re.sub(words, lambda found: taught.get(found[0].lower(), found[0]), prompt, flags=re.I)


TextualInversionLoaderMixin._maybe_convert_prompt = _write_out


def _vectors(file: Path) -> dict[str, Any]:
    """Map the suffix of each encoder's name to its vectors in a file. The key ``word`` has the file's own word, if any.

    Raises:
        ValueError: The kind of file is unknown.
    """
    safe = file.suffix == _SAFE
    read: dict[str, Any] = (
        load_file(file) if safe else torch.load(file, map_location="cpu", weights_only=True)
    )
    if _ENCODERS.keys() >= read.keys():
        return {_ENCODERS[key]: vectors for key, vectors in read.items()}
    if "string_to_param" in read:
        return {"": next(iter(read["string_to_param"].values())), "word": read.get("name")}
    ((key, vectors), *others) = read.items()
    if others or not isinstance(vectors, Tensor):
        raise ValueError(
            f"it has {len(read)} tensors, but a textual inversion has one tensor for each text encoder"
        )
    return {"": vectors} | ({} if key in _NAMELESS else {"word": key})


def _inversion_file(source: str, settings: ModelSettings) -> Path:
    path = Path(source).expanduser()
    if path.is_dir():
        return path / _only_weights(path, f"{_USUAL_WORD}.safetensors", "embedding")
    if path.is_file():
        _require_safe(path, "embedding", settings)
        return path
    kind = "bin" if settings.allow_pickle else "safetensors"
    return Path(
        hf_hub_download(sources.locate(source), f"{_USUAL_WORD}.{kind}", local_files_only=settings.offline)
    )


@dataclass(frozen=True)
class Adapter:
    """An IP-Adapter. Its weights are in the UNet that both pipelines share.

    After loading, the UNet needs image embeddings in every run. A run without the adapter gets zeros with scale 0,
    which do not change the attention to the text.

    Attributes:
        id: The adapter's name in the ``adapter`` field of requests.
        scale: Weight of the image prompt if a request gives no weight.
    """

    id: str
    scale: float

    def arguments(
        self, pipeline: DiffusionPipeline, recipe: Recipe, image: Image.Image | None
    ) -> dict[str, Any]:
        """Set the scale for the pipeline's next run, and return the image embeddings as arguments of that run."""
        scale = 0.0 if image is None or recipe.adapter_scale is None else recipe.adapter_scale
        pipeline.set_ip_adapter_scale(scale)
        positive, negative = self._embed(pipeline, image or Image.new("RGB", (8, 8)))
        if not scale:
            positive = negative = torch.zeros_like(positive)
        # With classifier-free guidance, the pipeline splits the embeddings into two halves.
        embeddings = torch.cat([negative, positive]) if is_doubled(pipeline, recipe.guidance) else positive
        return {"ip_adapter_image_embeds": [embeddings]}

    def _embed(self, pipeline: DiffusionPipeline, image: Image.Image) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the positive and the negative embedding, each ``(1, 1, ...)``."""
        (projection,) = pipeline.unet.encoder_hid_proj.image_projection_layers
        hidden = not isinstance(projection, ImageProjection)
        with torch.inference_mode():
            positive, negative = pipeline.encode_image([image], pipeline._execution_device, 1, hidden)
        return positive[:, None], negative[:, None]


def load_adapter(settings: ModelSettings, pipeline: DiffusionPipeline) -> Adapter | None:
    """Load the IP-Adapter of ``settings`` into a pipeline. Return None if the settings name none.

    Raises:
        ModelLoadError: The adapter cannot be loaded. The message gives the next step.
    """
    if not settings.adapter:
        return None
    if getattr(pipeline, "unet", None) is None:
        raise ModelLoadError(
            f"--ip-adapter needs a model with a UNet, and {settings.model} has none: leave --ip-adapter out"
        )
    source, subfolder, weights = _place(settings, family_of(type(pipeline).__name__).encoders > 1)
    try:
        if pipeline.image_encoder is None:
            pipeline.register_modules(
                image_encoder=_load_image_encoder(source, subfolder, pipeline.dtype, settings)
            )
        pipeline.load_ip_adapter(
            source, subfolder=subfolder, weight_name=weights, local_files_only=settings.offline
        )
    except LOAD_ERRORS as error:
        said = sources.explain_failure(settings.adapter, "IP-Adapter", error)
        raise ModelLoadError(
            f"{said} (an IP-Adapter needs its folder image_encoder beside its weights)"
        ) from error
    local = Path(settings.adapter).expanduser()
    return Adapter(local.resolve().stem if local.exists() else settings.adapter, settings.adapter_scale)


def _load_image_encoder(source: str, subfolder: str, dtype: torch.dtype, settings: ModelSettings) -> Any:  # noqa: ANN401
    """Load the image encoder of an adapter.

    Raises:
        ValueError: The encoder lacks weights, which the library would fill at random.
    """
    encoder, found = CLIPVisionModelWithProjection.from_pretrained(
        source,
        subfolder=Path(subfolder, "image_encoder").as_posix(),
        dtype=dtype,
        # Pickled weights run code when they are loaded.
        use_safetensors=None if settings.allow_pickle else True,
        local_files_only=settings.offline,
        output_loading_info=True,
    )
    if lacking := sorted(found["missing_keys"]):
        raise ValueError(
            f"its image_encoder has no weights for {lacking[0]}: download the complete IP-Adapter again"
        )
    return encoder


def _place(settings: ModelSettings, xl: bool) -> tuple[str, str, str]:
    """Return source, subfolder and weight file of an adapter: a weight file, a directory or a hub id.

    If the source is a weight file, the folder ``image_encoder`` is beside it. A directory contains both, or has the
    layout of the authors' hub repository.
    """
    place = Path(settings.adapter).expanduser()
    if place.is_file():
        _require_safe(place, "IP-Adapter", settings)
        return str(place.parent), "", place.name
    subfolder, weights = ("sdxl_models", "sdxl") if xl else ("models", "sd15")
    usual = f"ip-adapter_{weights}{_SAFE}"
    if place.is_dir() and not (place / subfolder).is_dir():
        return str(place), "", _only_weights(place, usual, "IP-Adapter")
    return sources.locate(settings.adapter), subfolder, usual
