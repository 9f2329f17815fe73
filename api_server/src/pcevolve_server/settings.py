"""The server's settings. Each is declared once: type, limits, default, and its help as the text below it.

``cli`` makes flags and variables of the settings with a text. API keys come from a file or the environment, never
from the command line.
"""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pydantic.dataclasses
from pydantic import Field

from pcevolve_server.errors import SettingsError
from pcevolve_server.model_settings import DECLARED, FlagSpelling, ModelSettings
from pcevolve_shared import limits
from pcevolve_shared.reading import open_file

API_KEY_VARIABLE = "PCEVOLVE_SERVER_API_KEY"
MIN_KEY_CHARS = 16
_LONGEST_KEY_FILE = 2**20
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
DEFAULT_MODEL = ModelSettings()
# A PNG of this many incompressible pixels still fits the contract's limit on one image.
_MOST_PIXELS = limits.MAX_IMAGE_BYTES // 3 - 2**16


class LogLevel(StrEnum):
    """The least severe kind of message that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class EngineKind(StrEnum):
    """Where batches run."""

    THREAD = "thread"
    PROCESSES = "processes"
    RAY = "ray"


@dataclass(frozen=True)
class Key:
    """A caller who may use the server.

    Attributes:
        secret: The key that the caller sends.
        name: The caller's name in logs. Callers with different names take turns at the model.
    """

    secret: str = field(repr=False)
    name: str = "default"

    def __post_init__(self) -> None:
        """Refuse a key that can be guessed.

        Raises:
            SettingsError: The key is too short or not ASCII, or its name is invalid.
        """
        if len(self.secret) < MIN_KEY_CHARS or not self.secret.isascii():
            raise SettingsError(f"an API key must have at least {MIN_KEY_CHARS} ASCII characters")
        if not _NAME.fullmatch(self.name):
            raise SettingsError("an API key's name has 1 to 64 letters, digits, '.', '_' or '-'")


@pydantic.dataclasses.dataclass(frozen=True, config=DECLARED)
class Settings:
    """All settings of one server process.

    Attributes:
        model: The model of requests that name none.
        others: More models, which requests have to name.
        keys: Keys of the callers. Empty: anybody may use the server, on loopback only.
    """

    model: ModelSettings = DEFAULT_MODEL
    others: tuple[ModelSettings, ...] = ()
    model_memory_mib: Annotated[int, Field(ge=0, le=2**24)] = 0
    """Limit on the weights of all loaded models. A model that does not fit is loaded when a request needs it. 0: keep
    all models loaded."""
    keys: tuple[Key, ...] = ()
    host: str = "127.0.0.1"
    """Address to listen on. Any other than loopback requires a key."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """Port to listen on. 0: choose a free port and log it."""
    allowed_hosts: Annotated[tuple[str, ...], FlagSpelling("allowed-host", "ALLOWED_HOSTS")] = ()
    """Host name, besides localhost, that requests may use if the server has no key. May be repeated."""
    engine: EngineKind = EngineKind.THREAD
    """Where the model runs: in a thread of the server, in several processes that share the work, or on Ray (pip install
    'pcevolve-server[ray]')."""
    replicas: Annotated[int, Field(ge=0, le=1024)] = 0
    """Number of processes, each with its own copy of the model. 0: one per GPU, or one per core, up to 4."""
    devices: str = ""
    """GPUs for the processes, such as cuda:0,cuda:1, assigned in turn. Default: all visible GPUs."""
    max_replicas: Annotated[int, Field(ge=0, le=1024)] = 0
    """On Ray: upper limit when scaling up because images are waiting. 0: do not scale."""
    ray_address: str = ""
    """HOST:PORT of a Ray cluster, or auto. Default: start a cluster on loopback."""
    default_steps: Annotated[int | None, Field(ge=1, le=limits.MAX_STEPS)] = None
    """Steps for requests that do not give any. Default: the model's recommended value."""
    default_guidance: Annotated[float | None, Field(ge=0, le=limits.MAX_GUIDANCE)] = None
    """Guidance scale for requests that do not give one. Default: the model's recommended value."""
    queue_megapixel_steps: Annotated[float, Field(gt=0, le=10**9)] = 200_000
    """Limit on queued work, in millions of pixels times steps. Beyond the limit the answer is 429. A token of a text
    counts as one step of 64 x 64 pixels."""
    queue_megapixel_steps_per_key: Annotated[float, Field(gt=0, le=10**9)] = 100_000
    """The same limit for the queued work of one key. It bounds the key's share of the queue, and is not a quota."""
    stall_seconds: Annotated[float, Field(ge=0, le=10**6)] = 600
    """If a batch makes no progress for this long, its device is considered hung, and the server (or the replica's
    process) exits. 0: never."""
    deadline_seconds: Annotated[float, Field(ge=0, le=10**6)] = 3600
    """Longest time until an answer. After this time the answer is 503. 0: no limit."""
    max_pixels: Annotated[int, Field(ge=64, le=_MOST_PIXELS)] = 2048 * 2048
    """Largest image in a request or an answer, in pixels."""
    max_connections: Annotated[int, Field(ge=1, le=10_000)] = 256
    """Limit on open connections. Beyond the limit the answer is 503."""
    header_seconds: Annotated[float, Field(ge=0.1, le=600)] = 10
    """Longest time for a request's headers to arrive. After this time the connection is closed."""
    body_seconds: Annotated[float, Field(ge=0.1, le=600)] = 30
    """Longest time for a request's body to arrive, plus one second for each 64 KiB. After this time the answer is
    408."""
    max_buffered_mib: Annotated[int, Field(ge=-(-limits.MAX_REQUEST_BYTES // 2**20), le=2**20)] = 128
    """Limit on the bodies of all open requests together. Beyond the limit the answer is 429."""
    shutdown_seconds: Annotated[int, Field(ge=1, le=3600)] = 30
    """Time from SIGTERM until the process exits, even if requests are still running."""
    drain_seconds: Annotated[float, Field(ge=0, le=3600)] = 0
    """The part of --shutdown-seconds during which /readyz answers 'stopping' and new requests are still accepted, so
    that a load balancer can notice."""

    @property
    def models(self) -> tuple[ModelSettings, ...]:
        """Settings of all models, the default first."""
        return self.model, *self.others

    @property
    def device_names(self) -> tuple[str, ...]:
        return tuple(each.strip() for each in self.devices.split(",") if each.strip())

    def __post_init__(self) -> None:
        """Refuse unsafe settings.

        Raises:
            SettingsError: Anyone on the network could use the server, or settings contradict each other.
        """
        if self.replicas > 1 and self.engine is EngineKind.THREAD:
            raise SettingsError(
                "--replicas needs --engine processes or ray: the thread engine has one replica"
            )
        if self.devices and self.engine is not EngineKind.PROCESSES:
            raise SettingsError("--devices needs --engine processes: Ray assigns the GPUs itself")
        if (self.max_replicas or self.ray_address) and self.engine is not EngineKind.RAY:
            raise SettingsError("--max-replicas and --ray-address need --engine ray")
        if self.max_replicas and not 0 < self.replicas <= self.max_replicas:
            raise SettingsError("--max-replicas needs --replicas, and must not be less than --replicas")
        if self.drain_seconds >= self.shutdown_seconds:
            raise SettingsError(
                "--drain-seconds must be less than --shutdown-seconds, which includes the drain"
            )
        if not self.keys and not is_loopback(self.host):
            raise SettingsError(
                f"refusing to listen on {self.host} without an API key: set {API_KEY_VARIABLE} or"
                " --api-key-file, or bind to 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """True if only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_keys(path: Path | None, environment: str) -> tuple[Key, ...]:
    """Return the keys in ``path`` if it is given, otherwise the key in the environment's value, if any.

    A line of the file is a key, or a name and a key. Empty lines and lines that begin with # are skipped.

    Raises:
        SettingsError: Both are given, a key or name is invalid or repeated, or the file is missing, empty or
            readable by others.
    """
    if path is None:
        return (Key(environment.strip()),) if environment.strip() else ()
    if environment:
        raise SettingsError(f"both {API_KEY_VARIABLE} and --api-key-file are set: choose one")
    lines = (line.split() for line in _secret_text(path).splitlines())
    named = [words for words in lines if words and not words[0].startswith("#")]
    if any(len(words) > 2 for words in named):
        raise SettingsError("a line of the API key file holds more than a name and a key")
    keys = tuple(Key(*reversed(words)) for words in named)
    if not keys:
        raise SettingsError(f"the API key file {path} is empty")
    if any(len({getattr(key, each) for key in keys}) < len(keys) for each in ("name", "secret")):
        raise SettingsError(
            f"the API key file {path} holds a name or a key twice: write NAME KEY on each line"
        )
    return keys


def _secret_text(path: Path) -> str:
    try:
        with open_file(path, _LONGEST_KEY_FILE) as file:
            status = os.fstat(file.fileno())
            text = file.read(_LONGEST_KEY_FILE).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the API key file {path}: {type(error).__name__}") from error
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise SettingsError(f"the API key file {path} is accessible to others: chmod 600 it")
    return text
