"""Providers that a table asks: one by flags, or several in a TOML file, each a column of the table about APIs.

    [sdxl]
    api = "http://127.0.0.1:8001"
    model = "sdxl"

    [kontext]
    api = "https://api.example.com"
    dialect = "openai"
    model = "flux-kontext"
    api_key_file = "kontext.key"

What stands in a table is the section ``provider`` of a run's configuration.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcevolve.errors import UsageError
from pcevolve.public.config.addresses import require_address, require_key, require_proxy
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options, validate
from pcevolve.public.config.files import read_key_file
from pcevolve.public.config.options import spell_as
from pcevolve.public.config.owner import OwnerProvider
from pcevolve.public.config.providers import KEY_VARIABLE
from pcevolve.public.config.sources import name_options, read_toml
from pcevolve.wire.providers import dialect

OF_THE_TABLE = ("seed", "prompts")
"""Options that a table sets itself, for each of its runs."""


@dataclass(frozen=True)
class BenchProvider:
    """One provider.

    Attributes:
        name: What the table calls it.
        options: What it is asked for, and where; results depend on it.
        connection: How it is reached and what may be spent there, its key's file among it; no result depends on it.
    """

    name: str
    options: Mapping[str, Any]
    connection: Mapping[str, Any]

    @property
    def is_local(self) -> bool:
        """True if a server of this machine is started for it, because nobody said where one is."""
        return "api" not in self.options

    @property
    def about(self) -> str:
        """Its name, and what it is where that says more."""
        told = [str(self.options[key]) for key in ("model", "dialect", "api") if key in self.options]
        return f"`{self.name}`" if told[0] == self.name else f"`{self.name}` ({', '.join(told)})"


def by_flags(
    api: str | None, models: Sequence[str], spoken: str, key_file: Path | None
) -> tuple[BenchProvider, ...]:
    """One provider's models, each as a provider of its own; None for ``api`` is a server of this machine."""
    where = {} if api is None else {"api": api}
    key = {} if key_file is None else {"api_key_file": str(key_file)}
    return tuple(BenchProvider(each, {"model": each, "dialect": spoken, **where}, key) for each in models)


def in_file(path: Path) -> tuple[BenchProvider, ...]:
    """Read named providers, in the file's order.

    Raises:
        UsageError: It cannot be read, an option is wrong, or the environment's key would go to more than one.
    """
    found = tuple(_one(name, part, path) for name, part in read_toml(path).items())
    if not found:
        raise UsageError(
            f"{path} names no provider: write [NAME], and below it api, dialect, model and so on"
        )
    keyless = [each.name for each in found if "api_key_file" not in each.connection]
    if os.environ.get(KEY_VARIABLE) and keyless:
        raise UsageError(
            f"{path}: the key in {KEY_VARIABLE} would go to {' and '.join(keyless)}: several providers have a key "
            "each, in a file that api_key_file names; unset the variable"
        )
    return found


def _one(name: str, part: object, path: Path) -> BenchProvider:
    place = f"{path}, [{name}]"
    if not isinstance(part, Mapping) or not name.isprintable():
        raise UsageError(
            f"{path}: {name!r} is no provider: write [NAME], and below it api, dialect, model ..."
        )
    values = name_options({"provider": part}, list_options(RunConfig), place)
    if own := [key for key in OF_THE_TABLE if key in values]:
        raise UsageError(f"{place}: {own[0]} is the table's own: leave it out")
    with spell_as(lambda key: f"{place}: {key}"):
        settings = validate(OwnerProvider, values)
    try:
        _require_sendable(settings)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
    said = {"model": settings.model, "dialect": settings.dialect}
    said |= settings.model_dump(mode="json", exclude_unset=True)
    public = {
        each.key for each in list_options(RunConfig) if each.section == "provider" and each.setting.public
    }
    return BenchProvider(
        name,
        {key: value for key, value in said.items() if key in public},
        {key: value for key, value in said.items() if key not in public},
    )


def _require_sendable(settings: OwnerProvider) -> None:
    """Refuse what no run could begin with, before the first one does.

    Raises:
        UsageError: Address, dialect, key or proxy cannot be used.
    """
    require_address(settings.api, "api", "api_key_file")
    require_key(read_key_file(settings.api_key_file), dialect(settings.dialect).abilities.scheme)
    require_proxy(settings.api, settings.proxy)
