"""All options of a run, read once and kept with it: the common ones, and those of the method that is named."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

import tomli_w
from pydantic import Field, create_model

from pcevolve.config.files import read_key
from pcevolve.config.sections import Config
from pcevolve.config.sources import name_options, read_toml
from pcevolve.durable import write_durably
from pcevolve.public.methods import AUTO, METHOD_SETTINGS, require_method
from pcevolve.public.options import list_options, validate
from pcevolve.public.settings import MethodSettings

if TYPE_CHECKING:
    AnyMethod: TypeAlias = MethodSettings
else:

    def _name_section(name: str, parameters: type[MethodSettings]) -> type[MethodSettings]:
        """A method's section, which its name tells from the others."""
        notes = MethodSettings.model_fields["name"]
        return create_model(
            parameters.__name__,
            __base__=parameters,
            __module__=parameters.__module__,
            name=(Annotated[Literal[name], *notes.metadata, Field(description=notes.description)], name),
        )

    _SECTIONS = [
        _name_section(AUTO, MethodSettings),
        *(_name_section(name, parameters) for name, parameters in METHOD_SETTINGS.items()),
    ]
    AnyMethod = Annotated[reduce(or_, _SECTIONS), Field(discriminator="name")]


class RunConfig(Config):
    """All options of a run; stored with it as ``config.toml``.

    ``method`` has the parameters of the method that it names, and no others.
    """

    method: AnyMethod

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Validate options by their names (``shots``, ``votes``); ``UsageError`` if one is missing or wrong."""
        name = str(values.get("method", AUTO))
        name = name if name == AUTO else require_method(name)
        return validate(cls, {**values, "method": name})

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a stored ``config.toml``; ``UsageError`` where there is none."""
        return cls.of(name_options(read_toml(path), cls, str(path)))

    def save(self, path: Path) -> None:
        """Store as TOML, for ``--resume`` and for the record. Holds no key."""
        values = self.model_dump(mode="json", exclude_none=True)
        write_durably(path, tomli_w.dumps(values).encode(), 0o600)

    def get(self, name: str) -> Any:  # noqa: ANN401 - as many types as there are options
        """Return an option by its name; None if the method has no such parameter."""
        return self.options().get(name)

    def options(self) -> dict[str, Any]:
        """All options by their names."""
        return {
            each.name: each.of(self)
            for each in list_options(type(self))
            if not each.owners or self.method.name in each.owners
        }

    def changed(self, **values: object) -> Self:
        """These options, some with other values, by name; another method has parameters of its own."""
        method = values.get("method", self.method.name)
        foreign = {
            each.name for each in list_options(type(self)) if each.owners and method not in each.owners
        }
        kept = {name: value for name, value in self.options().items() if name not in foreign}
        return self.of({**kept, **values})

    def key(self) -> str | None:
        """The API key, from the environment or a file that nobody else can read; else ``UsageError``."""
        return read_key(self.provider.api_key_file)
