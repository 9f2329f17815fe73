"""Options that only the owner's process knows: what is private, and what leads to it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pcevolve.errors import UsageError
from pcevolve.public import settings as public
from pcevolve.public.config.files import LEDGER_VARIABLE, REST, FileText, find_ledger
from pcevolve.public.config.providers import PublicProvider
from pcevolve.public.config.runner import PublicData, PublicEncoder, PublicPrivacy
from pcevolve.public.declared import EXACT
from pcevolve.public.options import OWN, Setting
from pcevolve.public.words import nfc


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


class OwnerData(PublicData):
    private: Annotated[
        FileText,
        Field(
            description="Folder of class folders; for texts also a .csv, .tsv, .jsonl or .parquet file; to "
            "try it: 'cells' (blood cells), 'digits' (handwriting) or 'terms' (meanings of "
            "nouns)."
        ),
        OWN,
    ]
    test: Annotated[
        FileText | None,
        Field(
            description="Folder of held-out real images to measure accuracy on, or 'rest' for those that "
            "data.subsample leaves out; stays private."
        ),
        OWN,
    ] = None
    subsample_seed: Annotated[
        int,
        Field(
            ge=0,
            lt=2**63,
            description="Seed of the subsample; secret, drawn by the operating system if not given; kept "
            "with the run's options, beside the ledger.",
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
            description="Word for the source of unit names; stays private. Names count within it: the "
            "same name from another source is another patient. The card says that it was "
            "used."
        ),
        OWN,
    ] = None
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
        Field(description="Treat all images of --private as one class, whatever their folders."),
        OWN,
    ] = False
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
    secrets: Annotated[
        public.AbsolutePath | None,
        Field(
            description="Text file of secrets in the private texts, one per line; stays private. Each "
            "may be followed by its own prior and bound, separated by tabs."
        ),
        Setting(only="text"),
    ] = None
    secret_columns: Annotated[
        tuple[str, ...],
        Field(description="Columns of a table whose values are secrets of the texts beside them."),
        Setting(only="text"),
    ] = ()

    @model_validator(mode="after")
    def _rest_is_left(self) -> Self:
        if self.test == REST and self.subsample is None:
            from pcevolve.public.config.table import spell_option  # for a refusal

            raise ValueError(
                f"{spell_option('test')} {REST} is for what {spell_option('subsample')} leaves: say how "
                f"many it draws; a folder of that name is ./{REST}"
            )
        return self


class OwnerPrivacy(PublicPrivacy):
    """The data's budget over all runs."""

    ledger: Annotated[
        public.AbsolutePath,
        Field(description="Privacy ledger; one for all runs, because the budget belongs to the data."),
        Setting(variable=LEDGER_VARIABLE),
    ] = Field(default_factory=find_ledger)
    lifetime_epsilon: Annotated[
        str | None,
        EXACT,
        Field(
            description="Most that all runs may spend together on any one of these privacy units, if "
            "that is less than the ledger's cap (pcevolve budget cap) or, without a cap, "
            "less than --epsilon."
        ),
        Setting(resumable=True),
    ] = None
    insecure_noise_seed: Annotated[
        int | None,
        Field(description="INSECURE, for tests: noise from a seed. The run has no privacy."),
        OWN,
    ] = None


class OwnerEncoder(PublicEncoder):
    """The encoder's files."""

    weights: Annotated[
        FileText | None,
        Field(
            description="File with the encoder's weights, or directory of an encoder of texts; the plan has its digest."
        ),
        Setting(public=True, keyword="encoder_weights"),
    ] = None


class OwnerProvider(PublicProvider):
    """Prompts for each class by its own name, which may be private."""

    prompts: Annotated[
        FileText | None,
        Field(
            description="JSON file with several prompts for each class, as 'pcevolve prompts' writes it: the "
            "first images are asked for with them, in equal shares, word for word."
        ),
        public.PUBLIC,
    ] = None
