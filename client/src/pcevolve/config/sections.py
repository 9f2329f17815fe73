"""Sections of a run's options but the providers' (``config.providers``) and what the plan repeats (``public``)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from pcevolve.config.files import LEDGER_VARIABLE, REST, FileText, find_ledger
from pcevolve.config.providers import ProviderSettings, Seconds
from pcevolve.config.sources import read_toml
from pcevolve.encoders import AUTO, ENCODERS, SPECTRAL, TRANSFORMER, WORDS
from pcevolve.errors import UsageError
from pcevolve.public import settings as public
from pcevolve.public.options import EXACT, OWN, Setting, spell
from pcevolve.public.words import nfc

SHORTEST_TICK = 0.001


def _tick(seconds: float | None) -> float | None:
    if seconds is not None and 0 < seconds < SHORTEST_TICK:
        raise ValueError(f"must be 0 or at least {SHORTEST_TICK:g} seconds")
    return seconds


Epsilon = Annotated[str, EXACT, Field(description="Total privacy budget of the run, > 0."), public.PUBLIC]


def _in_one_line(words: str) -> bool:
    return words.isprintable() and words == words.strip()


def _name_one_source(word: str | None) -> str | None:
    if word is not None and not (word and _in_one_line(word)):
        raise ValueError("must be a word in one line, without blanks around it")
    return word


def _read_words(value: object) -> object:
    """Words as a table, of a table or of the path of a TOML file that is one."""
    if isinstance(value, str | os.PathLike):
        try:
            value = read_toml(Path(value))
        except UsageError as error:
            raise ValueError(str(error)) from None
    if value is None:
        return None
    if not (isinstance(value, Mapping) and value and all(isinstance(each, str) for each in value.values())):
        raise ValueError('must be a table of CLASS = "words", or a TOML file of such lines')
    if odd := [
        name for name, each in value.items() if len(each) > public.MOST_WORDS or not _in_one_line(each)
    ]:
        raise ValueError(
            f"the words of {odd[0]!r} must be one line of at most {public.MOST_WORDS} characters"
        )
    return {nfc(name): each for name, each in value.items()}


class DataSettings(public.Section):
    """The private data, and what is public of them."""

    private: Annotated[
        FileText,
        Field(
            description="Folder of class folders; for texts also a .csv, .tsv, .jsonl or .parquet file; to "
            "try it: 'cells' (blood cells), 'digits' (handwriting) or 'terms' (meanings of "
            "nouns)."
        ),
        OWN,
    ]
    domain: public.Domain
    from_run: Annotated[
        public.AbsolutePath | None,
        Field(
            description="Folder of a finished run whose release is varied (--from); no private data are read."
        ),
        OWN,
    ] = None
    test: Annotated[
        FileText | None,
        Field(
            description="Folder of held-out real images to measure accuracy on, or 'rest' for those that a "
            "subsample leaves; stays private."
        ),
        OWN,
    ] = None
    shots: public.Shots = 10
    subsample: public.Subsample | None = None
    subsample_seed: Annotated[
        int,
        Field(
            ge=0,
            lt=2**63,
            description="Seed of the subsample; secret, drawn by the operating system if not given; kept in "
            "config.toml.",
        ),
        OWN,
    ] = Field(default_factory=lambda: secrets.randbelow(2**63))
    unit_map: Annotated[
        public.AbsolutePath | None,
        Field(
            description="CSV file that groups images into privacy units, e.g. patients: columns file,patient."
        ),
        Setting(only="image"),
    ] = None
    unit_column: Annotated[
        str | None,
        Field(
            min_length=1,
            description="Column of a table that groups texts into privacy units, e.g. patients; its name is public.",
        ),
        Setting(only="text"),
    ] = None
    unit_namespace: Annotated[
        str | None,
        AfterValidator(_name_one_source),
        Field(
            description="Word for where the names of units come from, which stays private: names count within it, so "
            "that patients whom another source calls alike are others. The card says that it was used."
        ),
        OWN,
    ] = None
    unit_size: public.UnitSize | None = None
    words: Annotated[
        dict[str, str] | None,
        BeforeValidator(_read_words),
        Field(
            description='What prompts say in place of class names: a table of CLASS = "words", or a TOML file '
            "of such lines; words may be empty. Names of classes then stay private.",
        ),
        public.PUBLIC,
    ] = None
    unlabelled: Annotated[
        bool,
        Field(description="Take all images of --private as one class, whatever the folders."),
        OWN,
    ] = False
    window: public.Window | None = None
    text_column: Annotated[
        str | None,
        Field(min_length=1, description="Column of a table that holds the texts; text if not given."),
        Setting(only="text"),
    ] = None
    label_column: Annotated[
        str | None,
        Field(min_length=1, description="Column of a table that holds their labels; label if not given."),
        Setting(only="text"),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _shots_are_those_that_are_drawn(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("subsample") is None or "shots" in values:
            return values
        return {**values, "shots": values["subsample"]}

    @model_validator(mode="after")
    def _say_one_number(self) -> Self:
        drawn = spell("subsample", Config)
        if self.subsample is not None and int(self.shots) != self.subsample:
            shots = spell("shots", Config)
            raise ValueError(
                f"{drawn} {self.subsample} and {shots} {self.shots} differ: leave {shots} out, it follows"
            )
        if self.test == REST and self.subsample is None:
            raise ValueError(
                f"{spell('test', Config)} {REST} is for what {drawn} leaves: say how many it draws; a folder of that "
                f"name is ./{REST}"
            )
        return self


class PrivacySettings(public.Section):
    """The budget, what it protects, and what could tell by time."""

    epsilon: Epsilon = "10"
    delta: public.Delta | None = None
    relation: public.Relation = "replace-one"
    ledger: Annotated[
        public.AbsolutePath,
        Field(description="Privacy ledger; one for all runs, because the budget belongs to the data."),
        Setting(variable=LEDGER_VARIABLE),
    ] = Field(default_factory=find_ledger)
    lifetime_epsilon: Annotated[
        str | None,
        EXACT,
        Field(
            description="Most that all runs may spend together on any one of these privacy units, where that is less "
            "than the ledger's cap (pcevolve budget cap), or without a cap less than --epsilon."
        ),
        Setting(resumable=True),
    ] = None
    forget_insecure: Annotated[
        bool,
        Field(
            description="Leave out of the sum earlier runs on these data whose noise came from a seed "
            "(INSECURE); card and report say so."
        ),
        public.PUBLIC,
    ] = False
    pad_selection: Annotated[
        Seconds | None,
        AfterValidator(_tick),
        Field(
            description="Seconds: private work between two requests lasts a whole multiple of this, which "
            "hides its length unless the console warns. 0: not hidden. If not given, half a "
            "second; more for many classes, shots and candidates."
        ),
        Setting(resumable=True),
    ] = None
    pace: Annotated[
        Seconds,
        Field(description="Least seconds between an answer and a request."),
        Setting(resumable=True),
    ] = 0.0
    insecure_noise_seed: Annotated[
        int | None,
        Field(description="INSECURE, for tests: noise from a seed. The run has no privacy."),
        OWN,
    ] = None


class EncoderSettings(public.Section):
    """The encoder, and where it works."""

    name: Annotated[
        str,
        Field(
            description=f"auto (clip or resnet18 where fetched, else bundled), {', '.join(ENCODERS)}, clip:MODEL:TAG; "
            f"{SPECTRAL} is for surfaces and textures; for texts {WORDS} (bundled) or {TRANSFORMER}HUB_ID."
        ),
        Setting(public=True, keyword="encoder"),
    ] = AUTO
    weights: Annotated[
        FileText | None,
        Field(
            description="File with the encoder's weights, or directory of an encoder of texts; the plan has its digest."
        ),
        Setting(public=True, keyword="encoder_weights"),
    ] = None
    device: Annotated[
        str,
        Field(description="Where the encoder runs: auto, cpu or cuda."),
        OWN,
    ] = "auto"


class OutputSettings(public.Section):
    """Where the run goes, and what is written beside its images."""

    folder: Annotated[
        Path,
        Field(description="Folder of the run; nothing in it is ever overwritten."),
        Setting(keyword="out"),
    ]
    formats: Annotated[
        tuple[public.Form, ...],
        Field(description="Also write the dataset as parquet, webdataset or both, beside the images."),
        Setting(resumable=True),
    ] = ()
    licence: public.Licence = public.UNKNOWN_LICENCE


class Config(BaseModel):
    """The options of a run that every method has, by section; ``RunConfig`` has the method's own beside them.

    None in an optional field means: decided when the run starts, from public facts only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    MOST_USED: ClassVar = (
        *("private", "domain", "test", "shots", "unit_map"),
        *("epsilon", "delta"),
        *("method", "candidates", "iterations"),
        *("api", "dialect", "model", "api_key_file", "max_cost", "yes"),
        *("encoder", "out"),
    )
    """Options that have a flag; all others are for files, the environment and ``--set``."""

    data: DataSettings
    privacy: PrivacySettings
    method: public.MethodSettings
    provider: ProviderSettings
    encoder: EncoderSettings
    output: OutputSettings
