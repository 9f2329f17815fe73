"""Options that a process with the network may know, in sections. ``owner`` contains the other options.

A field may only be here if it reveals nothing about private data and contains no path to private data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from pcevolve.public import settings as public
from pcevolve.public.config.declared import list_options, validate
from pcevolve.public.config.files import read_key
from pcevolve.public.config.options import OWN, Setting
from pcevolve.public.config.providers import PublicProvider, Seconds
from pcevolve.public.encoders import AUTO, ENCODERS, JOINED, SPECTRAL, TRANSFORMER, WORDS
from pcevolve.public.method_names import require_method
from pcevolve.public.methods import METHOD_TABLE

SHORTEST_TICK = 0.001


def _tick(seconds: float | None) -> float | None:
    if seconds is not None and 0 < seconds < SHORTEST_TICK:
        raise ValueError(f"must be 0 or at least {SHORTEST_TICK:g} seconds")
    return seconds


class PublicData(public.DataSettings):
    """The public facts about the private data. In a run from a release, the release replaces the private data."""

    from_run: Annotated[
        public.AbsolutePath | None,
        Field(description="Folder of a finished run whose released images are varied."),
        OWN,
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _shots_are_those_that_are_drawn(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("subsample") is None or "shots" in values:
            return values
        return {**values, "shots": values["subsample"]}

    @model_validator(mode="after")
    def _say_one_number(self) -> Self:
        if self.subsample is not None and int(self.shots) != self.subsample:
            from pcevolve.public.config.table import spell_option  # for a refusal

            drawn, shots = spell_option("subsample"), spell_option("shots")
            raise ValueError(
                f"{drawn} {self.subsample} and {shots} {self.shots} differ: leave {shots} out, it follows"
            )
        return self


class PublicPrivacy(public.PrivacySettings[None]):
    """The run's budget, and the timing of its requests."""

    pad_selection: Annotated[
        Seconds | None,
        AfterValidator(_tick),
        Field(
            description="The time of private work is padded to a multiple of this many seconds, so that "
            "the provider cannot measure it. 0: no padding. Default: half a second or more."
        ),
        Setting(resumable=True),
    ] = None
    pace: Annotated[
        Seconds,
        Field(description="Minimum number of seconds between an answer and a request."),
        Setting(resumable=True),
    ] = 0.0


class PublicEncoder(public.Section):
    """The encoder and its device."""

    name: Annotated[
        str,
        Field(
            description=f"Encoder of the private and synthetic images: auto, {', '.join(ENCODERS)} or "
            "clip:MODEL:TAG. auto uses clip or resnet18 if it was fetched, and bundled "
            f"otherwise. {JOINED} also works for photographs. {SPECTRAL} is for surfaces and "
            f"textures. {WORDS} and {TRANSFORMER}HUB_ID are for texts."
        ),
        Setting(public=True, keyword="encoder"),
    ] = AUTO
    device: Annotated[
        str,
        Field(description="Device that the encoder runs on: auto, cpu or cuda."),
        OWN,
    ] = "auto"


class OutputSettings(public.ReleaseSettings):
    """The run's folder, and the files that are written besides images."""

    folder: Annotated[
        Path,
        Field(description="Folder of the run. No file in it is ever overwritten."),
        Setting(keyword="out"),
    ]
    formats: Annotated[
        tuple[public.Form, ...],
        Field(
            description="Other formats in which to write the dataset: parquet or webdataset for "
            "images, jsonl or csv for texts."
        ),
        Setting(resumable=True),
    ] = ()


if TYPE_CHECKING:
    AnyMethod: TypeAlias = public.MethodSettings[None]
else:

    def _name_section(
        name: str, parameters: type[public.MethodSettings[None]]
    ) -> type[public.MethodSettings[None]]:
        """Return a method's section with the method's name as a fixed field, which distinguishes the sections."""
        notes = public.MethodSettings.model_fields["name"]
        return create_model(
            parameters.__name__,
            __base__=parameters,
            __module__=parameters.__module__,
            name=(Annotated[Literal[name], *notes.metadata, Field(description=notes.description)], name),
        )

    _SECTIONS = [
        _name_section(AUTO, public.MethodSettings[None]),
        *(_name_section(name, entry.parameters) for name, entry in METHOD_TABLE.items()),
    ]
    AnyMethod = Annotated[reduce(or_, _SECTIONS), Field(discriminator="name")]


class Config(BaseModel):
    """Options of a run, in sections. ``PublicConfig`` and ``RunConfig`` are its two forms.

    None in an optional field means that the value is decided when the run starts, from public facts only.
    ``method`` has exactly the parameters of the method that it names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    MOST_USED: ClassVar = (
        *("private", "domain", "test", "shots", "unit_map"),
        *("epsilon", "delta"),
        *("method", "candidates", "iterations"),
        *("api", "dialect", "model", "api_key_file", "max_cost", "yes"),
        *("encoder", "out"),
    )
    """Options with a flag. All others come from files, the environment and ``--set``."""

    if TYPE_CHECKING:
        method: AnyMethod
        provider: PublicProvider

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Validate options given by name, such as ``shots`` and ``votes`` (``UsageError`` if missing or wrong)."""
        name = require_method(str(values.get("method", AUTO)), (AUTO, *METHOD_TABLE))
        return validate(cls, {**values, "method": name})

    def get(self, name: str) -> Any:  # noqa: ANN401 - as many types as there are options
        """Return an option by its name, or None if the method has no such parameter."""
        return self.options().get(name)

    def options(self) -> dict[str, Any]:
        """Return all options by name."""
        return {
            each.name: each.of(self)
            for each in list_options(type(self))
            if not each.methods or self.method.name in each.methods
        }

    def key(self) -> str | None:
        """Return the API key, from the environment or from a file that only its owner can read.

        Raises:
            UsageError: Others can read the file, or it cannot be read.
        """
        return read_key(self.provider.api_key_file)


class PublicConfig(Config):
    """The options of a run that a process with the network may know. The model accepts no other options."""

    data: PublicData
    privacy: PublicPrivacy
    method: AnyMethod
    provider: PublicProvider
    encoder: PublicEncoder
    output: OutputSettings
