"""The server's settings: one frozen object, checked once, read nowhere else."""

import ipaddress
import os
import stat
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pcevolve_server.errors import SettingsError

API_KEY_VARIABLE = "PCEVOLVE_SERVER_API_KEY"
MIN_KEY_CHARS = 16


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


@dataclass(frozen=True)
class ModelSettings:
    """What to load and how.

    Attributes:
        model: ``bundled``, a directory, a hub id, or ``library:`` and a directory of images.
        model_id: What callers write in ``model``; empty: ``model``, or a directory's name.
        adapter: Directory or hub id of an IP-Adapter; empty: none.
        threads: CPU threads of the model; 0: the library's choice.
        library_cache: Directory for the indexes of libraries; empty: the user's cache directory.
    """

    model: str = "bundled"
    model_id: str = ""
    device: str = "auto"
    precision: Precision = Precision.AUTO
    scheduler: str | None = None
    adapter: str = ""
    adapter_scale: float = 0.5
    safety: SafetyPolicy = SafetyPolicy.AUTO
    safety_retries: int = 3
    offline: bool = False
    allow_pickle: bool = False
    threads: int = 0
    library_cache: str = ""


@dataclass(frozen=True)
class Settings:
    """Everything about one server process.

    Attributes:
        queue_limit: Requests that may wait; the next one is answered 429.
        max_pixels: Of one image, asked for or sent.
        max_connections: Open at a time.
        header_seconds: From a request's first byte, or from the connection's start, to the end of its head.
        body_seconds: For a request's body; each 64 KiB of it add a second.
        max_buffered_mib: Bodies of all requests together, from their first byte to the answer.
        allowed_hosts: Names that a Host header may hold besides loopback's, where there is no key.
        shutdown_seconds: How long requests in progress may finish after SIGTERM.
    """

    model: ModelSettings = ModelSettings()
    host: str = "127.0.0.1"
    port: int = 8000
    api_key: str = field(default="", repr=False)
    max_batch: int = 16
    batching: Batching = Batching.EXACT
    queue_limit: int = 64
    max_pixels: int = 2048 * 2048
    max_connections: int = 256
    header_seconds: float = 10
    body_seconds: float = 30
    max_buffered_mib: int = 128
    allowed_hosts: tuple[str, ...] = ()
    default_steps: int = 50
    default_guidance: float = 7.5
    shutdown_seconds: int = 30

    def __post_init__(self) -> None:
        """Refuse what would be unsafe.

        Raises:
            SettingsError: Anyone on the network could use the server, or the key can be guessed.
        """
        if self.api_key and (len(self.api_key) < MIN_KEY_CHARS or not self.api_key.isascii()):
            raise SettingsError(f"the API key must have at least {MIN_KEY_CHARS} ASCII characters")
        if not self.api_key and not is_loopback(self.host):
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


def read_api_key(path: Path | None, environment: str) -> str:
    """Return the key from ``path`` if given, else from the environment's value.

    Raises:
        SettingsError: Both are given, or the file is missing, empty or readable by others.
    """
    if path is None:
        return environment.strip()
    if environment:
        raise SettingsError(f"both {API_KEY_VARIABLE} and --api-key-file are set: choose one")
    try:
        with path.open(encoding="ascii") as file:
            status = os.fstat(file.fileno())
            key = file.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the API key file {path}: {type(error).__name__}") from error
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise SettingsError(f"the API key file {path} is accessible to others: chmod 600 it")
    if not key:
        raise SettingsError(f"the API key file {path} is empty")
    return key
