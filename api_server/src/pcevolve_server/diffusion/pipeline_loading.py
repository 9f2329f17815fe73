"""Load a model's pipeline by name: a folder in the layout of diffusers, a hub id, or one file with all weights."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import diffusers
import torch
from diffusers import DiffusionPipeline
from diffusers.loaders.single_file_utils import (
    SingleFileComponentError,
    fetch_diffusers_config,
    load_single_file_checkpoint,
)
from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING, _get_task_class
from huggingface_hub import list_repo_files, snapshot_download, try_to_load_from_cache

from pcevolve_server import networks, sources
from pcevolve_server.diffusion import class_conditional, families, parts, prediction, traits
from pcevolve_server.diffusion.families import family_of
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import ModelSettings, Offload, WeightFormat
from pcevolve_server.networks import LOAD_ERRORS

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Where the parts of a model are stored.

    Attributes:
        folder: Directory or hub id with the configuration of all parts.
        file: The checkpoint with all weights. None: the folder has the weights, too.
        index: Contents of the folder's ``model_index.json``: the pipeline's class and its parts.
    """

    folder: str
    file: Path | None
    index: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return str(self.index.get("_class_name", ""))


def find(settings: ModelSettings) -> Source:
    """Find a model's configuration.

    Raises:
        ModelLoadError: The configuration is missing, or the model needs another model to make images.
    """
    place = sources.locate(settings.model)
    file = Path(place) if sources.is_checkpoint(settings.model) else None
    folder = place if file is None else _configuration(file, settings)
    local = Path(folder) if file is None and Path(folder).is_dir() else None
    if local and not (local / parts.INDEX).is_file():
        raise ModelLoadError(
            f"cannot serve {settings.model}: it has no {parts.INDEX}: give a folder in diffusers' layout, or a single"
            " file with all of a model's weights"
        )
    try:
        index = DiffusionPipeline.load_config(folder, local_files_only=settings.offline)
    except LOAD_ERRORS as error:
        raise ModelLoadError(sources.explain_failure(settings.model, "model", error)) from error
    found = Source(folder, file, dict(index))
    if reason := _unfit(found):
        raise ModelLoadError(f"cannot serve {settings.model}: {reason}")
    if local and (missing := parts.find_missing(local, found.index)):
        raise ModelLoadError(f"cannot load the model {settings.model}: {missing}")
    return found


def _unfit(source: Source) -> str | None:
    """Return a reason, found in a model's index, why the model cannot be served. None: the index shows no reason."""
    without_first = source.index.get("text_encoder") == [None, None] and family_of(source.kind).encoders > 1
    if source.index.get("requires_aesthetics_score") or without_first:
        return "it is a refiner, which only finishes images that a base model began: serve the base model"
    return next((reason for part, reason in families.UNFIT.items() if part in source.kind), None)


def load(source: Source, settings: ModelSettings, device: torch.device) -> DiffusionPipeline:
    """Read a model's weights into the computer's memory.

    Raises:
        ModelLoadError: The weights cannot be read. The message gives the next step.
    """
    dtype = _dtype(source, settings, device)
    if source.file is not None and any(map(_SCALED.search, parts.names_in(source.file))):
        raise ModelLoadError(
            f"cannot load the model {settings.model}: its weights are quantized, with scales that diffusers would"
            " ignore: serve the original model"
        )
    try:
        with parts.hear("transformers.modeling_utils") as said:
            pipeline = _read(source, settings, dtype)
    except (*LOAD_ERRORS, SingleFileComponentError) as error:
        if "meta tensor" in str(error):  # what was not in the file has no memory
            raise ModelLoadError(f"cannot load the model {settings.model}: {parts.LACKS_SOME}") from error
        raise ModelLoadError(sources.explain_failure(settings.model, "model", error)) from error
    if fault := parts.find_fault(_on_disk(source.folder), pipeline, said):
        raise ModelLoadError(f"cannot load the model {settings.model}: {fault}")
    if source.file is not None:
        try:
            prediction.set_prediction_type(pipeline, parts.names_in(source.file))
        except ModelLoadError as error:
            raise ModelLoadError(f"cannot serve {settings.model}: {error}") from error
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


_SCALED: Final = re.compile(r"scaled_fp8$|scale_weight$|weight_scale$|comfy_quant$")


def _read(source: Source, settings: ModelSettings, dtype: torch.dtype) -> DiffusionPipeline:
    if source.file is not None:
        return _class_of(source).from_single_file(
            str(source.file), config=source.folder, dtype=dtype, local_files_only=True
        )
    kind = DiffusionPipeline if class_conditional.is_served(source.index) else _class_of(source)
    return kind.from_pretrained(
        source.folder,
        dtype=dtype,
        variant=_variant(source, settings),
        # Pickled weights run code when they are loaded.
        use_safetensors=None if settings.allow_pickle else True,
        local_files_only=settings.offline,
        **_packed(source, settings),
    )


def _packed(source: Source, settings: ModelSettings) -> dict[str, Any]:
    """Return the settings with which bitsandbytes packs the denoiser's weights while it reads them.

    Source: LLM.int8 (arXiv 2208.07339).
    """
    if settings.weights is WeightFormat.WHOLE:
        return {}
    parts = [each for each in ("unet", "transformer") if each in source.index]
    options = {"load_in_8bit": True}
    return {
        "quantization_config": diffusers.PipelineQuantizationConfig(
            quant_backend="bitsandbytes_8bit", quant_kwargs=options, components_to_quantize=parts
        )
    }


def _class_of(source: Source) -> Any:  # noqa: ANN401 - the library has no types
    if family_of(source.kind).draws:  # some of which the library takes for no such thing
        return getattr(diffusers, source.kind)
    found = _get_task_class(AUTO_TEXT2IMAGE_PIPELINES_MAPPING, source.kind, throw_error_if_not_exist=False)
    if found is None:
        raise ValueError(
            f"diffusers has no text-to-image pipeline for a {source.kind}. Of the models that edit"
            " images, this server supports"
            f" {families.SERVED_EDITS}"
        )
    return found


def _dtype(source: Source, settings: ModelSettings, device: torch.device) -> torch.dtype:
    """Return the number format of the weights. On a GPU, it is bfloat16 for transformers, which overflow in float16."""
    if device.type != "cuda":
        return torch.float32
    return networks.gpu_dtype(settings.precision, brain="transformer" in source.index)


def place(pipeline: DiffusionPipeline, settings: ModelSettings, device: torch.device) -> None:
    """Move a pipeline to its device. If memory is short, move one network at a time, while it runs.

    Raises:
        ModelLoadError: Offloading is requested without a GPU, or a single network does not fit.
    """
    if settings.offload is Offload.ON and device.type != "cuda":
        raise ModelLoadError(f"--offload on needs a GPU, and the device is {device}: leave --offload out")
    try:
        if _offloads(pipeline, settings, device):
            logger.info("each network is moved to the GPU when it runs", extra={"model": settings.model})
            pipeline.enable_model_cpu_offload(device=device)
        else:
            pipeline.to(device)
    except torch.OutOfMemoryError as error:
        raise ModelLoadError(
            f"cannot load the model {settings.model}: {device} has too little memory: try --offload on, which needs"
            " less"
        ) from error


def _offloads(pipeline: DiffusionPipeline, settings: ModelSettings, device: torch.device) -> bool:
    if device.type != "cuda" or settings.offload is not Offload.AUTO:
        return settings.offload is Offload.ON
    free: int = torch.cuda.mem_get_info(device)[0]
    # Free memory is measured, because other programs may use the same GPU. The trial before the start shows whether
    # a run fits beside the weights.
    return traits.weight_of(pipeline) > free


_WEIGHTS: Final = re.compile(
    r"(?P<part>\w+)/(?:diffusion_pytorch_model|pytorch_model|model)"
    r"(?:\.(?P<variant>\w+))?(?:-\d+-of-\d+)?\.(?P<kind>safetensors|bin)"
)
_USUAL_VARIANTS: Final = ("fp16", "bf16")


def _variant(source: Source, settings: ModelSettings) -> str | None:
    """Return the variant of the weights to read, such as fp16 for ``model.fp16.safetensors``. None: plain weights.

    Raises:
        ModelLoadError: A network has only pickled weights, and reading them is not allowed.
    """
    there: dict[str, set[str | None]] = {}
    safe: dict[str, set[str | None]] = {}
    for found in filter(None, map(_WEIGHTS.fullmatch, _names(source.folder, settings.offline))):
        part, variant = found["part"], found["variant"]
        there.setdefault(part, set()).add(variant)
        if settings.allow_pickle or found["kind"] == "safetensors":
            safe.setdefault(part, set()).add(variant)
    if pickled := sorted(there.keys() - safe.keys()):
        raise ModelLoadError(
            f"cannot load the model {settings.model}: {', '.join(pickled)} has only pickled weights (.bin), and"
            " loading them could run code: if you trust their author, add --allow-pickle"
        )
    without_plain = [variants for variants in safe.values() if None not in variants]
    common = {each for each in set.intersection(*without_plain) if each} if without_plain else set()
    return next((each for each in (*_USUAL_VARIANTS, *sorted(common)) if each in common), None)


def _names(folder: str, offline: bool) -> Iterable[str]:
    """Return the names of the files in the folders of a directory or a repository, as far as they are known."""
    if not (offline or Path(folder).is_dir()):
        try:
            return list_repo_files(folder)
        except Exception as error:  # noqa: BLE001 - of several HTTP libraries; what is cached may do
            logger.debug("the hub does not answer", extra={"error": type(error).__name__})
    return [f"{path.parent.name}/{path.name}" for path in _on_disk(folder).glob("*/*")]


def _on_disk(folder: str) -> Path:
    """Return a repository's folder in the hub's cache. A directory or an absent repository is returned unchanged."""
    cached = None if Path(folder).is_dir() else try_to_load_from_cache(folder, parts.INDEX)
    return Path(cached).parent if isinstance(cached, str) else Path(folder)


_DENOISERS: Final = ("model.diffusion_model.", "double_blocks.", "joint_blocks.", "transformer_blocks.")


def _configuration(file: Path, settings: ModelSettings) -> str:
    """Return the directory with a checkpoint's configuration.

    This is the directory of the checkpoint's name beside the checkpoint, or otherwise the hub's for such models.

    Raises:
        ModelLoadError: There is no such directory, or the file is not a checkpoint of a whole model.
    """
    beside = file.with_suffix("")
    if (beside / parts.INDEX).is_file():
        return str(beside)
    try:
        checkpoint = load_single_file_checkpoint(str(file))
        if not any(each.startswith(_DENOISERS) for each in checkpoint):
            raise ModelLoadError(
                f"cannot serve {settings.model}: the file has no denoiser, so it is a part of a"
                " model, or an addition for --lora, --embedding or --ip-adapter"
            )
        base = str(fetch_diffusers_config(checkpoint)["pretrained_model_name_or_path"])
    except LOAD_ERRORS as error:
        raise ModelLoadError(sources.explain_failure(settings.model, "model", error)) from error
    patterns = ["*.json", "*.txt", "*.model"]
    try:
        return snapshot_download(base, allow_patterns=patterns, local_files_only=settings.offline)
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[0]
        include = " ".join(f"--include '{each}'" for each in patterns)
        raise ModelLoadError(
            f"cannot load the model {settings.model}: a single file of weights has no configuration."
            " On a machine with network access"
            f" run `hf download {base} {include} --local-dir {beside.name}` (some MB), and put that folder"
            f" beside {file.name}. Cause: {type(error).__name__}: {line[:300]}"
        ) from error
