"""From a name on the command line to a language model; one path for a local and a hub model."""

from __future__ import annotations

import logging

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from pcevolve_server import sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.language.writer import LanguageModel
from pcevolve_server.networks import devices
from pcevolve_server.networks.failures import LOAD_ERRORS
from pcevolve_server.settings import ModelSettings, Precision
from pcevolve_shared import limits
from pcevolve_shared.wire import ModelInfo

logger = logging.getLogger(__name__)


def load(settings: ModelSettings) -> LanguageModel:
    """Load the language model that ``settings`` name onto the device.

    Raises:
        ModelLoadError: With the name and what to do.
    """
    devices.quieten()
    device = devices.found(settings.device)
    network, tokenizer = _parts(settings, device)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    network.to(device).eval()
    facts = {"model": sources.model_id(settings), "device": str(device), "precision": str(network.dtype)}
    logger.info("model loaded", extra=facts)
    return LanguageModel(_info(settings, network), network, tokenizer)


def _parts(settings: ModelSettings, device: torch.device) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    name = settings.model.removeprefix(sources.TEXT)
    source = sources.locate(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=settings.offline)
        network = AutoModelForCausalLM.from_pretrained(
            source,
            dtype=_precision(settings, device),
            # Pickled weights run code when they are read.
            use_safetensors=None if settings.allow_pickle else True,
            local_files_only=settings.offline,
        )
    except LOAD_ERRORS as error:
        raise ModelLoadError(sources.advice(name, "language model", error)) from error
    if len(tokenizer) <= len(
        tokenizer.all_special_tokens
    ):  # what the library makes up where there are no files
        raise ModelLoadError(f"cannot load the language model {name}: it has no tokenizer")
    return network, tokenizer


def _precision(settings: ModelSettings, device: torch.device) -> torch.dtype:
    """Float32 on a processor unless it is asked for otherwise: every token depends on its rounding."""
    if device.type != "cpu":
        return devices.on_gpu(settings.precision)
    auto = settings.precision is Precision.AUTO
    return torch.float32 if auto else devices.on_cpu(settings.precision)


def _info(settings: ModelSettings, network: PreTrainedModel) -> ModelInfo:
    identity = sources.model_id(settings)
    return ModelInfo(
        id=identity,
        name=identity.removeprefix(sources.TEXT).rsplit("/", 1)[-1],
        family=network.config.model_type[: limits.MAX_NAME_CHARS],
        pipelines=("chat",),
        negative_prompts=False,
    )
