"""Options that only the owner's process knows: private ones, and paths of private files."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pcevolve.errors import UsageError
from pcevolve.public import settings as public
from pcevolve.public.config.declared import EXACT
from pcevolve.public.config.files import LEDGER_VARIABLE, REST, FileText, find_ledger
from pcevolve.public.config.options import OWN, Setting
from pcevolve.public.config.providers import PublicProvider
from pcevolve.public.config.runner import PublicData, PublicEncoder, PublicPrivacy
from pcevolve.public.config.workflow import MOST_CHARS, normalize
from pcevolve.public.requests import OF_WORKFLOW
from pcevolve.public.words import nfc
from pcevolve_shared.reading import read_file


def _in_one_line(words: str) -> bool:
    return words.isprintable() and words == words.strip()


def _name_one_source(word: str | None) -> str | None:
    if word is not None and not (word and _in_one_line(word)):
        raise ValueError("must be a word in one line, without blanks around it")
    return word


def _read_words(value: object) -> object:
    """Read words from a table, or from the path of a TOML file with such a table."""
    if isinstance(value, str | os.PathLike):
        from pcevolve.public.config.sources import read_toml  # where somebody types options

        try:
            value = read_toml(Path(value), "file of words")
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


class OwnerData(PublicData):
    private: Annotated[
        FileText,
        Field(
            description="Folder with one subfolder of images per class; for texts, also a .csv, .tsv, "
            ".jsonl or .parquet file. 'cells', 'digits' and 'terms' are built-in sample data."
        ),
        OWN,
    ]
    test: Annotated[
        FileText | None,
        Field(
            description="Held-out real images to measure accuracy on, or 'rest' for the images that "
            "data.subsample leaves out."
        ),
        OWN,
    ] = None
    subsample_seed: Annotated[
        int,
        Field(
            ge=0,
            lt=2**63,
            description="Secret seed of the subsample. Default: a random seed.",
        ),
        OWN,
    ] = Field(default_factory=lambda: secrets.randbelow(2**63))
    unit_map: Annotated[
        public.AbsolutePath | None,
        Field(description="CSV file that groups images into privacy units; its columns are file,patient."),
        Setting(only="image"),
    ] = None
    unit_column: Annotated[
        str | None,
        Field(
            min_length=1,
            description="Column that groups texts into privacy units. The column's name is public.",
        ),
        Setting(only="text"),
    ] = None
    unit_namespace: Annotated[
        str | None,
        AfterValidator(_name_one_source),
        Field(
            description="Private name of the data source. The same unit name in data of another source "
            "then means a different patient."
        ),
        OWN,
    ] = None
    words: Annotated[
        dict[str, str] | None,
        BeforeValidator(_read_words),
        Field(
            description="TOML file with words that prompts use in place of the class names, which then "
            "stay private.",
        ),
        public.PUBLIC,
    ] = None
    unlabelled: Annotated[
        bool,
        Field(description="Treat all private images as one class."),
        OWN,
    ] = False
    text_column: Annotated[
        str | None,
        Field(min_length=1, description="Column with the texts. Default: text."),
        Setting(only="text"),
    ] = None
    label_column: Annotated[
        str | None,
        Field(min_length=1, description="Column with the labels. Default: label."),
        Setting(only="text"),
    ] = None
    secrets: Annotated[
        public.AbsolutePath | None,
        Field(
            description="Private file of secrets, one per line. A prior and a bound may follow each "
            "secret, separated by tabs."
        ),
        Setting(only="text"),
    ] = None
    secret_columns: Annotated[
        tuple[str, ...],
        Field(description="Columns whose values are secrets in the texts of the same row."),
        Setting(only="text"),
    ] = ()

    @model_validator(mode="after")
    def _rest_is_left(self) -> Self:
        if self.test == REST and self.subsample is None:
            from pcevolve.public.config.table import spell_option  # for a refusal

            raise ValueError(
                f"{spell_option('test')} {REST} means the images or texts that {spell_option('subsample')} leaves out: "
                f"set it. For a folder named {REST}, give ./{REST}"
            )
        return self


class OwnerPrivacy(PublicPrivacy):
    """The private data's budget for all runs together."""

    ledger: Annotated[
        public.AbsolutePath,
        Field(description="Privacy ledger. All runs on the same data must use the same ledger."),
        Setting(variable=LEDGER_VARIABLE),
    ] = Field(default_factory=find_ledger)
    lifetime_epsilon: Annotated[
        str | None,
        EXACT,
        Field(
            description="Limit on what all runs together may spend on any of these privacy units. It can "
            "only lower the ledger's cap."
        ),
        Setting(resumable=True),
    ] = None
    insecure_noise_seed: Annotated[
        int | None,
        Field(description="Seed of the noise, for tests only. The run is INSECURE: it has no privacy."),
        OWN,
    ] = None


class OwnerEncoder(PublicEncoder):
    """The encoder's files."""

    weights: Annotated[
        FileText | None,
        Field(description="File of the encoder's weights or, for texts, directory of the encoder."),
        Setting(public=True, keyword="encoder_weights"),
    ] = None


def _read_workflow(value: object) -> object:
    """Read a workflow from its file, in the form that a plan uses. A workflow given as text is not read from a file."""
    if not isinstance(value, str | os.PathLike) or not value:
        return value
    text = str(value)
    if not text.lstrip().startswith("{"):
        try:
            text = read_file(Path(value), MOST_CHARS).decode()
        except OSError as error:
            raise ValueError(f"{value}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{value}: the workflow is no JSON") from None
    from pcevolve.public.transcript.bodies import cut  # only a workflow needs it

    spelled = normalize(text)
    # An image may only be sent for a reason in the plan. An image inside a workflow would have no reason.
    if cut(spelled.encode()).files:
        raise ValueError("the workflow has an image within its text: let a node load it on the server")
    return spelled


class OwnerProvider(PublicProvider):
    """Prompts for each class by its real name, which may be private, and the file of a workflow."""

    workflow: Annotated[
        str,
        BeforeValidator(_read_workflow),
        Field(description=OF_WORKFLOW),
        Setting(public=True, needs="workflow"),
    ] = ""
    prompts: Annotated[
        FileText | None,
        Field(description="JSON file with several prompts per class, as pcevolve prompts writes it."),
        public.PUBLIC,
    ] = None
