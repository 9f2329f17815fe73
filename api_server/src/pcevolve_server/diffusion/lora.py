"""LoRA: low-rank additions to a model's weights.

Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models" (arXiv 2106.09685). They are added to the
weights once, so that afterwards the model is one like any other: as fast, and with the same bits in any company.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from diffusers import DiffusionPipeline
from peft.tuners.tuners_utils import BaseTunerLayer

from pcevolve_server import sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.loras import Lora
from pcevolve_server.networks.failures import LOAD_ERRORS
from pcevolve_server.settings import ModelSettings

logger = logging.getLogger(__name__)

_SAFE = ".safetensors"
_USUAL_NAME = "pytorch_lora_weights.safetensors"
_ADAPTER = "lora"


def add(lora: Lora, pipeline: DiffusionPipeline, settings: ModelSettings) -> None:
    """Add ``lora`` to the weights of ``pipeline``.

    Args:
        lora: What, and how much of it.
        pipeline: Whose denoiser, and text encoders where it says so, change.
        settings: Whether the hub may be asked and pickled weights be read.

    Raises:
        ModelLoadError: It is not there, or not for this model.
    """
    if not hasattr(pipeline, "load_lora_weights"):
        raise ModelLoadError(f"--lora: {type(pipeline).__name__} takes none; leave it out")
    folder, name = _place(lora.source, settings)
    misfit = f"the LoRA {lora.source} is not for {settings.model}"
    where = {
        "weight_name": name,
        "use_safetensors": None if settings.allow_pickle else True,
        "local_files_only": settings.offline,
    }
    try:
        found = pipeline.lora_state_dict(folder, **where)
        pipeline.load_lora_weights(folder, adapter_name=_ADAPTER, **where)
    except LOAD_ERRORS as error:
        if "size mismatch" in str(error):
            raise ModelLoadError(f"{misfit}: its weights have other shapes") from error
        raise ModelLoadError(sources.advice(lora.source, "LoRA", error)) from error
    parts = _changed_parts(pipeline)
    if not parts:
        raise ModelLoadError(f"{misfit}: it has no weights for it")
    layers, meant = _changed_layers(pipeline, parts), _layers(found[0] if isinstance(found, tuple) else found)
    if layers < meant:
        logger.warning("lora fits in part", extra={"lora": lora.source, "layers": layers, "of": meant})
    if lora.scale:
        pipeline.fuse_lora(parts, lora_scale=lora.scale, adapter_names=[_ADAPTER])
    pipeline.unload_lora_weights()
    logger.info("lora added", extra={"lora": lora.source, "scale": lora.scale, "parts": parts})


def _changed_parts(pipeline: DiffusionPipeline) -> list[str]:
    return sorted(part for part, names in pipeline.get_list_adapters().items() if _ADAPTER in names)


def _changed_layers(pipeline: DiffusionPipeline, parts: Iterable[str]) -> int:
    modules = (module for part in parts for module in getattr(pipeline, part).modules())
    return sum(isinstance(module, BaseTunerLayer) for module in modules)


def _layers(weights: Iterable[str]) -> int:
    """How many layers a file is about: each has two matrices, and these are the names of the first."""
    return sum("lora_A." in name or ".down." in name for name in weights)


def _place(source: str, settings: ModelSettings) -> tuple[str, str | None]:
    """The directory or hub id, and the file in it; None where the library may look for it."""
    path = Path(source).expanduser()
    if path.is_dir():
        return str(path), None if settings.allow_pickle else _only_weights(path)
    if path.is_file():
        if path.suffix != _SAFE and not settings.allow_pickle:
            raise ModelLoadError(
                f"the LoRA {source} is no {_SAFE} file: its weights could run code; --allow-pickle"
            )
        return str(path.parent), path.name
    return sources.locate(source), _USUAL_NAME if settings.offline else None


def _only_weights(folder: Path) -> str:
    names = sorted(path.name for path in folder.glob(f"*{_SAFE}"))
    if _USUAL_NAME in names:
        return _USUAL_NAME
    if len(names) != 1:
        found = f"{len(names)} of them: name one" if names else "none"
        raise ModelLoadError(f"the LoRA {folder}: a directory needs one {_SAFE} file, and has {found}")
    return names[0]
