"""All options of a run, as its owner keeps them: public options, and options that no other process may know."""

from __future__ import annotations

from pathlib import Path
from typing import Self, TypeVar

from pydantic import ValidationError, model_validator

from pcevolve.errors import UsageError
from pcevolve.public.config.declared import list_options, word_fault
from pcevolve.public.config.options import Option
from pcevolve.public.config.owner import OwnerData, OwnerEncoder, OwnerPrivacy, OwnerProvider
from pcevolve.public.config.providers import PublicProvider
from pcevolve.public.config.runner import (
    AnyMethod,
    Config,
    OutputSettings,
    PublicConfig,
    PublicData,
    PublicEncoder,
    PublicPrivacy,
)
from pcevolve.public.durable import write_durably
from pcevolve.public.methods import METHOD_TABLE, SecretEvolution
from pcevolve.public.settings import Section
from pcevolve_shared.reading import read_file

MOST_BYTES = 2**20
"""Largest number of bytes of stored options."""


class RunConfig(Config):
    """All options of a run, which only its owner knows. They are stored as ``options.json``.

    The class is not a subclass of ``PublicConfig``, so that it cannot be passed to the runner by mistake.
    """

    data: OwnerData
    privacy: OwnerPrivacy
    method: AnyMethod
    provider: OwnerProvider
    encoder: OwnerEncoder
    output: OutputSettings

    @model_validator(mode="after")
    def _secrets_are_protected(self) -> Self:
        given = ("secrets", self.data.secrets), ("secret-columns", self.data.secret_columns)
        for name, value in given:
            if value and not isinstance(self.method, SecretEvolution):
                able = [
                    own for own, each in METHOD_TABLE.items() if issubclass(each.parameters, SecretEvolution)
                ]
                raise ValueError(f"{name}: only for {', '.join(able)}")
        return self

    def public(self) -> PublicConfig:
        """Return these options without the owner's fields. A process with the network receives nothing else."""
        # Every section is validated already. Validating again would build the models of all methods.
        return PublicConfig.model_construct(
            data=_keep_public(PublicData, self.data),
            privacy=_keep_public(PublicPrivacy, self.privacy),
            method=self.method,
            provider=_keep_public(PublicProvider, self.provider),
            encoder=_keep_public(PublicEncoder, self.encoder),
            output=self.output,
        )

    def list_given(self) -> list[Option]:
        """Return the options that were given, from any source, with a value other than the default."""
        given = []
        for each in list_options(type(self)):
            section = getattr(self, each.section)
            if each.key in section.model_fields_set:
                default = type(section).model_fields[each.key].get_default(call_default_factory=True)
                given += [each] if getattr(section, each.key) != default else []
        return given

    def changed(self, **values: object) -> Self:
        """Return these options with some values changed, by name. Parameters of another method are dropped."""
        method = values.get("method", self.method.name)
        foreign = {
            each.name for each in list_options(type(self)) if each.methods and method not in each.methods
        }
        kept = {name: value for name, value in self.options().items() if name not in foreign}
        return self.of({**kept, **values})

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read stored options (``UsageError`` if there are none, or another version stored them)."""
        try:
            return cls.model_validate_json(read_file(path, MOST_BYTES))
        except OSError as error:
            raise UsageError(f"the options in {path} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            (first, *_) = error.errors(include_url=False, include_input=False)
            place = ".".join(map(str, first["loc"])) or "the file"
            raise UsageError(f"the options in {path} cannot be read: {place}: {word_fault(first)}") from None

    def save(self, path: Path) -> None:
        """Store the options for ``--resume``, without keys."""
        text = self.model_dump_json(exclude_none=True, indent=1)
        write_durably(path, f"{text}\n".encode(), 0o600)


Kind = TypeVar("Kind", bound=Section)


def _keep_public(kind: type[Kind], part: Kind) -> Kind:
    """Return a section without the owner's fields."""
    names = kind.model_fields.keys()
    values = {name: getattr(part, name) for name in names}
    return kind.model_construct(part.model_fields_set & names, **values)  # type: ignore[return-value]  # is a Kind
