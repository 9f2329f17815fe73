"""Textual inversion: words that a model is taught, each a few vectors of its text encoders.

Source: Gal et al. 2022, "An Image is Worth One Word: Personalizing Text-to-Image Generation using Textual Inversion"
(arXiv 2208.01618). Files are those of diffusers (a vector under its word), of AUTOMATIC1111's web UI (``emb_params``,
or ``string_to_param`` in a pickle), and of SDXL's trainers (``clip_l`` and ``clip_g``, one for each encoder).
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final

import torch
from diffusers import DiffusionPipeline
from huggingface_hub import hf_hub_download
from safetensors.torch import load_file
from torch import Tensor

from pcevolve_server import sources
from pcevolve_server.diffusion.additions import only_weights
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import Embedding, ModelSettings
from pcevolve_server.networks import LOAD_ERRORS

logger = logging.getLogger(__name__)

_USUAL: Final = "learned_embeds"
_NAMELESS: Final = ("emb_params", "*")
"""Keys that stand where another file has its word."""
_ENCODERS: Final = {"clip_l": "", "clip_g": "_2"}
"""Ends of the names of the parts that read a key of SDXL's."""


def add(embedding: Embedding, pipeline: DiffusionPipeline, settings: ModelSettings) -> None:
    """Teach a pipeline a word.

    Raises:
        ModelLoadError: The file is not there, or not for this model.
    """
    if not hasattr(pipeline, "load_textual_inversion"):
        raise ModelLoadError(f"--embedding: {type(pipeline).__name__} takes none; leave it out")
    try:
        file = _file(embedding.source, settings)
        found = _vectors(file)
        word = embedding.word or found.pop("word", None) or file.stem
        for end, vectors in found.items():
            pipeline.load_textual_inversion(
                vectors,
                token=word,
                tokenizer=getattr(pipeline, f"tokenizer{end}"),
                text_encoder=getattr(pipeline, f"text_encoder{end}"),
            )
    except LOAD_ERRORS as error:
        raise ModelLoadError(sources.advice(embedding.source, "embedding", error)) from error
    logger.info("embedding added", extra={"embedding": embedding.source, "word": word})


def _vectors(file: Path) -> dict[str, Any]:
    """Return the vectors of a file by the end of their encoder's name, and under ``word`` its own word if it has one.

    Raises:
        ValueError: It is none of the known kinds.
    """
    read: dict[str, Any] = load_file(file) if file.suffix == ".safetensors" else _unpickle(file)
    if _ENCODERS.keys() >= read.keys():
        return {_ENCODERS[key]: vectors for key, vectors in read.items()}
    if "string_to_param" in read:
        return {"": next(iter(read["string_to_param"].values())), "word": read.get("name")}
    ((key, vectors), *others) = read.items()
    if others or not isinstance(vectors, Tensor):
        raise ValueError(f"it has {len(read)} tensors, and a textual inversion has one for each text encoder")
    return {"": vectors} | ({} if key in _NAMELESS else {"word": key})


def _unpickle(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    return found


def _file(source: str, settings: ModelSettings) -> Path:
    path = Path(source).expanduser()
    if path.is_dir():
        return path / only_weights(path, f"{_USUAL}.safetensors", "embedding")
    if path.is_file():
        if path.suffix != ".safetensors" and not settings.allow_pickle:
            raise ModelLoadError(
                f"the embedding {source} is no .safetensors file: it could run code; --allow-pickle"
            )
        return path
    kind = "bin" if settings.allow_pickle else "safetensors"
    return Path(
        hf_hub_download(sources.locate(source), f"{_USUAL}.{kind}", local_files_only=settings.offline)
    )
