"""The server's settings: one frozen object, checked once, read nowhere else."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from pcevolve_server.errors import SettingsError
from pcevolve_server.keys import API_KEY_VARIABLE, Key

WHOLE = (0.0, 1.0)
"""All noise levels."""
OWN_SCHEDULER = "own"
"""That which a model brought along."""


class SafetyPolicy(StrEnum):
    """What to do about the model's safety checker."""

    AUTO = "auto"
    OFF = "off"
    REQUIRED = "required"


class Batching(StrEnum):
    """Which images may share a model run."""

    EXACT = "exact"
    MERGE = "merge"


class Precision(StrEnum):
    """The numbers that a denoiser computes in."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class EngineKind(StrEnum):
    """Where batches run."""

    THREAD = "thread"
    PROCESSES = "processes"
    RAY = "ray"


@dataclass(frozen=True)
class ModelSettings:
    """What to load and how.

    Attributes:
        model: ``bundled``, a directory, a hub id, ``library:`` and a directory of images, or ``text:`` and a
            directory or hub id of a language model.
        scheduler: What requests get that name none, or ``own``; None: that of the model's family.
        model_id: What callers write in ``model``; empty: ``model``, or a directory's name.
        loras: Added to the weights, in this order.
        adapter: Directory or hub id of an IP-Adapter; empty: none.
        threads: CPU threads of the model; 0: one for a small model, the library's choice for others.
        compiled: Whether to compile a small model's denoiser for its own size before the server is ready.
        batching: Whether images that share a model run may differ by rounding for it.
        guidance_interval: Shares of the noise levels between which guidance tells; 0 and 1: everywhere.
        tiling: Whether images larger than a model's autoencoder was made for are decoded in tiles.
        library_clip: Directory or hub id of an open_clip model that reads the prompts of libraries; empty: words alone.
        library_cache: Directory for the indexes of libraries; empty: the user's cache directory.
    """

    model: str = "bundled"
    model_id: str = ""
    device: str = "auto"
    precision: Precision = Precision.AUTO
    scheduler: str | None = None
    loras: tuple[Lora, ...] = ()
    adapter: str = ""
    adapter_scale: float = 0.5
    safety: SafetyPolicy = SafetyPolicy.AUTO
    safety_retries: int = 3
    offline: bool = False
    allow_pickle: bool = False
    threads: int = 0
    compiled: bool = False
    batching: Batching = Batching.EXACT
    guidance_interval: tuple[float, float] = WHOLE
    tiling: bool = False
    library_clip: str = ""
    library_cache: str = ""

    def others(self, names: Sequence[str]) -> tuple[ModelSettings, ...]:
        """The settings of other models in the same server, without what is meant for this one alone."""
        shared = replace(
            self, model_id="", scheduler=None, loras=(), adapter="", compiled=False, guidance_interval=WHOLE
        )
        return tuple(replace(shared, model=name) for name in names)


@dataclass(frozen=True)
class Settings:
    """Everything about one server process.

    Attributes:
        model: What requests get that name none.
        others: More models, which requests have to name.
        model_memory_mib: Of the models in memory at a time; 0: no bound.
        keys: Whom to answer; empty: anybody, on loopback alone.
        engine: Where batches run.
        replicas: Processes with a model each; 0: one for each core, up to 4.
        max_replicas: On Ray, up to how many there may be while batches wait; 0: as ``replicas``.
        ray_address: Of a Ray cluster, or ``auto``; empty: one of the process's own.
        max_batch: Images per model run.
        queue_steps: Images times steps that may wait before the next request is answered 429.
        key_steps: The same of one key.
        deadline_seconds: From a request's last byte to its answer; 0: as long as it takes.
        max_pixels: Of one image, asked for or sent.
        max_connections: Open at a time.
        header_seconds: From a request's first byte, or from the connection's start, to the end of its head.
        body_seconds: For a request's body; each 64 KiB of it add a second.
        max_buffered_mib: Bodies of all requests together, from their first byte to the answer.
        allowed_hosts: Names that a Host header may hold besides loopback's, where there is no key.
        default_steps: Where a request names none; None: the API's 50, and of few-step models their own.
        default_guidance: The same; None: the API's 7.5, and of few-step models their own.
        shutdown_seconds: How long requests in progress may finish after SIGTERM.
    """

    model: ModelSettings = ModelSettings()
    others: tuple[ModelSettings, ...] = ()
    model_memory_mib: int = 0
    host: str = "127.0.0.1"
    port: int = 8000
    keys: tuple[Key, ...] = ()
    engine: EngineKind = EngineKind.THREAD
    replicas: int = 0
    max_replicas: int = 0
    ray_address: str = ""
    max_batch: int = 16
    queue_steps: int = 200_000
    key_steps: int = 100_000
    deadline_seconds: float = 3600
    max_pixels: int = 2048 * 2048
    max_connections: int = 256
    header_seconds: float = 10
    body_seconds: float = 30
    max_buffered_mib: int = 128
    allowed_hosts: tuple[str, ...] = ()
    default_steps: int | None = None
    default_guidance: float | None = None
    shutdown_seconds: int = 30

    @property
    def models(self) -> tuple[ModelSettings, ...]:
        """All of them, that for requests which name none first."""
        return self.model, *self.others

    def __post_init__(self) -> None:
        """Refuse what would be unsafe.

        Raises:
            SettingsError: Anyone on the network could use the server, or replicas are asked of one that has none.
        """
        if self.replicas > 1 and self.engine is EngineKind.THREAD:
            raise SettingsError("one thread is one replica: --replicas goes with --engine processes or ray")
        if (self.max_replicas or self.ray_address) and self.engine is not EngineKind.RAY:
            raise SettingsError("--max-replicas and --ray-address go with --engine ray")
        if self.max_replicas and not 0 < self.replicas <= self.max_replicas:
            raise SettingsError("--max-replicas goes with a --replicas that is not larger")
        if not self.keys and not is_loopback(self.host):
            raise SettingsError(
                f"refusing to listen on {self.host} without an API key: set {API_KEY_VARIABLE} or"
                " --api-key-file, or bind to 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_LARGEST_SCALE = 10


@dataclass(frozen=True)
class Lora:
    """A low-rank addition to a model's weights.

    Attributes:
        source: A weight file, a directory or a hub id.
        scale: What it is multiplied by; 0 adds nothing.
    """

    source: str
    scale: float = 1.0

    @classmethod
    def read(cls, text: str) -> Lora:
        """From ``SOURCE`` or ``SOURCE=SCALE``.

        Raises:
            SettingsError: No source, or the scale is out of bounds.
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
