"""Settings of one model: which weights are loaded, and how the model runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pydantic.dataclasses
from pydantic import ConfigDict, Field

from pcevolve_server.errors import SettingsError
from pcevolve_shared import limits

_USUAL_BATCH = 16

OWN_SCHEDULER = "own"
"""The name of a model's own scheduler."""
_LARGEST_SCALE = 10


class SafetyPolicy(StrEnum):
    """Whether the model's safety checker is used."""

    AUTO = "auto"
    OFF = "off"
    REQUIRED = "required"


class Batching(StrEnum):
    """Conditions under which images share a run of the model."""

    EXACT = "exact"
    MERGE = "merge"


class Precision(StrEnum):
    """The number format in which a denoiser computes."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class Offload(StrEnum):
    """When a model's networks are on the GPU: always, or only while they run."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class Attention(StrEnum):
    """PyTorch's kernels for attention."""

    AUTO = "auto"
    FLASH = "flash"
    EFFICIENT = "efficient"
    CUDNN = "cudnn"
    MATH = "math"


class WeightFormat(StrEnum):
    """The number format in which a denoiser's weights are stored."""

    WHOLE = "whole"
    INT8 = "int8"


@dataclass(frozen=True)
class Lora:
    """A low-rank addition to a model's weights.

    Attributes:
        source: A weight file, a directory or a hub id.
        scale: The factor of the addition. 0 adds nothing.
    """

    source: str
    scale: float = 1.0

    @classmethod
    def read(cls, text: str) -> Lora:
        """Parse ``SOURCE`` or ``SOURCE=SCALE``.

        Raises:
            SettingsError: There is no source, or the scale is out of bounds.
        """
        source, equals, scale = text.rpartition("=")
        if not equals or Path(text).expanduser().exists():
            source, scale = text, "1"
        try:
            found = cls(source, float(scale))
        except ValueError:
            found = cls("")
        if not found.source or not abs(found.scale) <= _LARGEST_SCALE:
            raise SettingsError(
                f"--lora {text}: write SOURCE or SOURCE=SCALE, with a scale from -{_LARGEST_SCALE} to {_LARGEST_SCALE}"
            )
        return found


@dataclass(frozen=True)
class Embedding:
    """A word of a textual inversion.

    Attributes:
        source: A weight file, a directory or a hub id.
        word: The word in prompts. Empty: the file's own word, or its name.
    """

    source: str
    word: str = ""

    @classmethod
    def read(cls, text: str) -> Embedding:
        """Parse ``SOURCE`` or ``SOURCE=WORD``.

        Raises:
            SettingsError: Source or word is missing.
        """
        source, equals, word = text.rpartition("=")
        if not equals or Path(text).expanduser().exists():
            source, word = text, ""
        if not source or (equals and not word and source != text):
            raise SettingsError(f"--embedding {text}: write SOURCE or SOURCE=WORD")
        return cls(source, word)


@dataclass(frozen=True)
class FlagSpelling:
    """A setting's flag and variable, if the field's name does not give them.

    Attributes:
        name: Name of the flag.
        variable: Name in the environment, after ``PCEVOLVE_SERVER_``. Empty: derived from the flag.
        read: Parses each value of a flag that may be repeated.
    """

    name: str = ""
    variable: str = ""
    read: Callable[[str], object] = str


DECLARED = ConfigDict(use_attribute_docstrings=True)
"""For settings: the text below a field is the field's help."""


@pydantic.dataclasses.dataclass(frozen=True, config=DECLARED)
class ModelSettings:
    """A model to load, with its settings. A field without a text has no flag."""

    model: str = "bundled"
    model_id: str = ""
    """Name by which requests select the model. Default: the model's own."""
    device: str = "auto"
    """Where the model runs: auto, cpu, cuda, cuda:1 or mps."""
    precision: Precision = Precision.AUTO
    """Number format of the weights. With auto, CUDA uses bfloat16 for Flux, SD 3 and other transformers, and float16
    for other models. A CPU uses bfloat16 if it has matrix units for it, and otherwise float32."""
    offload: Offload = Offload.AUTO
    """Move a model's networks to the GPU one at a time, when they run. auto: only if they do not fit together."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """CPU threads. 0: one thread for a small model; for other models all cores, divided among the replicas."""
    compiled: Annotated[bool, FlagSpelling("compile")] = False
    """Compile the model before it serves: a small model on a CPU, or any model on CUDA. This needs a C++ compiler. It
    takes a minute or more the first time, and seconds later."""
    attention: Attention = Attention.AUTO
    """Attention kernel (SDPA). auto: PyTorch chooses one by the tensors' shapes."""
    weights: WeightFormat = WeightFormat.WHOLE
    """int8: keep the denoiser's weights in 8 bits, in half the memory. Only on CUDA (pip install
    'pcevolve-server[int8]')."""
    batching: Batching = Batching.EXACT
    """exact: the same request always gives the same bytes. Small models on a CPU still run in batches; other models
    run each request alone. merge: requests share batches, and their images are equal up to rounding."""
    max_batch: Annotated[int | None, Field(ge=1, le=limits.MAX_BATCH)] = None
    """Largest batch, in images of the model's native size. Larger images make smaller batches. Default: 16, or as many
    images as can share a batch without changing each other's bytes."""
    offline: bool = False
    """Never connect to the hub. Load only files that are on disk."""
    allow_pickle: bool = False
    """Also load weights in formats other than safetensors. Such files can run code when they are loaded."""
    library_clip: str = ""
    """Directory or hub id of an open_clip model. If a prompt's words alone do not settle the choice, the model
    selects a library's images by their content (pip install 'pcevolve-server[clip]')."""
    library_cache: str = ""
    """Directory for the indexes of libraries. Default: ~/.cache."""
    loras: Annotated[tuple[Lora, ...], FlagSpelling("lora", "LORAS", read=Lora.read)] = ()
    """Weight file, directory or hub id of a LoRA, followed by =SCALE if its scale is not 1. May be repeated; LoRAs are
    added in this order."""
    embeddings: Annotated[
        tuple[Embedding, ...], FlagSpelling("embedding", "EMBEDDINGS", read=Embedding.read)
    ] = ()
    """Weight file, directory or hub id of a textual inversion. It is followed by =WORD if prompts use another word
    than the file's name. May be repeated."""
    scheduler: str | None = None
    """Sampler: ddim, euler, dpmpp_2m, ..., or 'own' for the sampler in the model's files. Default: a sampler that
    suits the model's family."""
    tiling: Annotated[bool, FlagSpelling("vae-tiling")] = False
    """Decode images that are larger than the model's native size in overlapping tiles. Tiles take less memory and more
    time."""
    adapter: Annotated[str, FlagSpelling("ip-adapter")] = ""
    """Weight file, directory or hub id of an IP-Adapter."""
    adapter_scale: Annotated[float, FlagSpelling("ip-adapter-scale"), Field(ge=0, le=1)] = 0.5
    """Weight of the reference image."""
    safety: Annotated[SafetyPolicy, FlagSpelling("safety-checker")] = SafetyPolicy.AUTO
    """auto: use the model's safety checker if it has one."""
    safety_retries: Annotated[int, Field(ge=0, le=20)] = 3
    """How often a refused image is drawn again before the answer is 422."""

    def largest_batch(self, companions: int = 1) -> int:
        """Return the largest number of images of the model's own size in one run.

        Args:
            companions: See ``Loaded.bit_exact_batch_size``.
        """
        if companions == 1 or self.batching is Batching.MERGE:
            return self.max_batch or _USUAL_BATCH
        return min(companions, self.max_batch or companions)

    def others(self, names: Sequence[str]) -> tuple[ModelSettings, ...]:
        """Return settings of other models in the same server, without those that apply to this model alone."""
        shared = replace(
            self,
            model_id="",
            scheduler=None,
            loras=(),
            embeddings=(),
            adapter="",
            compiled=False,
        )
        return tuple(replace(shared, model=name) for name in names)
