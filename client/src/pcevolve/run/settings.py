"""What a run is asked to do: options and environment, read once and kept with the run."""

from __future__ import annotations

import os
import secrets
import stat
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from pcevolve.durable import write_durably
from pcevolve.errors import UsageError
from pcevolve.privacy import Relation
from pcevolve.public.plan import TEMPLATE, ImageHost

KEY_VARIABLE = "PCEVOLVE_API_KEY"
VOLUME_VARIABLE = "PCEVOLVE_LEDGER_VOLUME"
DAY = 86400.0
"""Seconds: longer than anybody waits, and short enough for every clock."""
SHORTEST_TICK = 0.001


def _tick(seconds: float) -> float:
    if 0 < seconds < SHORTEST_TICK:
        raise ValueError(f"must be 0 or at least {SHORTEST_TICK:g} seconds")
    return seconds


Seconds = Annotated[float, Field(ge=0, le=DAY, allow_inf_nan=False)]


def default_ledger() -> Path:
    """One ledger per user, because the budget belongs to the data and not to a run."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get("PCEVOLVE_LEDGER") or Path(state) / "pcevolve" / "ledger.sqlite").absolute()


def ledger_volume() -> Path | None:
    """The folder that keeps ledgers where everything else is thrown away, as in a container; None elsewhere."""
    folder = os.environ.get(VOLUME_VARIABLE)
    return Path(folder) if folder else None


class RunSettings(BaseModel):
    """All options of ``pcevolve run``; stored as ``config.toml`` in the run's folder.

    None in an optional field means: decided when the run starts, from public facts only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    private: str
    out: Path
    domain: Annotated[str, Field(min_length=1)]
    epsilon: str = "10"
    delta: Annotated[float, Field(ge=0, lt=1)] | None = None
    relation: Relation = "replace-one"
    unit_map: Path | None = None
    unit_size: Annotated[int, Field(ge=1)] | None = None
    unlabelled: bool = False
    method: str = "auto"
    calibration: Literal["tight", "published"] = "tight"
    test: str | None = None
    api: str = "http://127.0.0.1:8000"
    api_key_file: Path | None = None
    dialect: str = "getimg"
    model: str = "bundled"
    candidates: Annotated[int, Field(ge=1)] = 100
    iterations: Annotated[int, Field(ge=1)] | None = None
    initial: Annotated[int, Field(ge=1)] | None = None
    prototypes: Annotated[int, Field(ge=1)] | None = None
    lookahead: Annotated[int, Field(ge=0)] = 0
    more: Annotated[int, Field(ge=0)] = 0
    pool: Literal["latest", "all"] | None = None
    keep: Literal["last", "selected"] | None = None
    appearance: Literal["as-is", "matched", "auto"] | None = None
    threshold: Annotated[float, Field(ge=0)] | None = None
    shots: Annotated[int, Field(ge=1)] = 10
    prompt_template: str = TEMPLATE
    negative_prompt: str = ""
    strength_start: Annotated[float, Field(ge=0, le=1)] | None = None
    strength_end: Annotated[float, Field(ge=0, le=1)] | None = None
    guidance: float = 7.5
    steps: int = 50
    size: Annotated[int, Field(ge=8, le=4096)] | None = None
    batch: int = 32
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(default_factory=lambda: secrets.randbelow(2**32))
    encoder: str = "bundled"
    encoder_weights: str | None = None
    device: str = "auto"
    ledger: Annotated[Path, AfterValidator(Path.absolute)] = Field(default_factory=default_ledger)
    lifetime_epsilon: Annotated[str | None, AfterValidator(lambda text: text or None)] = None
    lifetime_delta: Annotated[float, Field(ge=0, lt=1)] | None = None
    forget_insecure: bool = False
    timeout: Annotated[Seconds, Field(gt=0)] = 600.0
    patience: Seconds = 300.0
    first_contact: Seconds = 10.0
    image_hosts: tuple[ImageHost, ...] = ()
    max_requests: Annotated[int, Field(ge=1)] | None = None
    max_cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    price: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    yes: bool = False
    pad_selection: Annotated[Seconds, AfterValidator(_tick)] = 1.0
    pace: Seconds = 0.0
    insecure_noise_seed: int | None = None

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Validate options.

        Raises:
            UsageError: One is missing, unknown or out of bounds.
        """
        try:
            return cls(**values)
        except ValidationError as error:
            raise UsageError(first_fault(error)) from None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a stored ``config.toml``.

        Raises:
            UsageError: It is missing or not a configuration.
        """
        return cls.of(read_toml(path))

    def save(self, path: Path) -> None:
        """Store as TOML, for ``--resume`` and for the record. Holds no key."""
        values = self.model_dump(mode="json", exclude_none=True)
        write_durably(path, tomli_w.dumps(values).encode(), 0o600)

    def key(self) -> str | None:
        """The API key, from the environment or a file that nobody else can read.

        Raises:
            UsageError: The file is missing, or others may read it.
        """
        if self.api_key_file is None:
            return os.environ.get(KEY_VARIABLE) or None
        try:
            mode = self.api_key_file.stat().st_mode
            text = self.api_key_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--api-key-file {self.api_key_file} cannot be read: {error}") from error
        if mode & (stat.S_IRGRP | stat.S_IROTH):
            raise UsageError(f"others can read {self.api_key_file}: run chmod 600 on it")
        return text


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of options.

    Raises:
        UsageError: It is missing or not TOML.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError) as error:  # TOML's and Unicode's errors are ValueErrors
        raise UsageError(f"configuration {path} cannot be read: {error}") from error


def first_fault(error: ValidationError) -> str:
    """One plain line about what is wrong with the options."""
    fault = error.errors(include_url=False, include_input=False)[0]
    said = fault["msg"].removeprefix("Value error, ")
    if not fault["loc"]:  # about several options, which it names itself
        return f"--{said}"
    return f"{option(str(fault['loc'][0]))}: {said}"


def option(name: str) -> str:
    """What the command line calls a setting."""
    return (
        "--image-host" if name == "image_hosts" else f"--{name.replace('_', '-')}"
    )  # given once for each host
