"""The roster: a TOML file on which all owners and the coordinator agree before a run. It does not change afterwards.

classes = ["basophil", "eosinophil"]
[[owner]] name = "North" shots = 10 key = "pcevolve-owner-1:..."
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pcevolve.errors import UsageError
from pcevolve.public.clinics.owners import ClinicOwner, Clinics
from pcevolve.public.config.declared import word_fault
from pcevolve.public.config.sources import read_toml
from pcevolve.public.settings import MOST_CLASSES, Words
from pcevolve.public.words import choose_labels, find_label_faults, nfc


class Roster(BaseModel):
    """The content of the file.

    Attributes:
        classes: Names of the classes' folders, which are the same for every owner.
        unit: Name of a privacy unit, such as patient. Empty if a unit is one image or text.
        words: Words of the prompts for a class, by the class's name. Empty if prompts use the names.
        colluding: As in ``Clinics``.
        holders: As in ``Clinics``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    classes: Annotated[tuple[str, ...], Field(min_length=1, max_length=MOST_CLASSES)]
    unit: Annotated[str, Field(max_length=40, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    words: dict[str, Words] = {}
    owner: tuple[ClinicOwner, ...] = ()
    colluding: int = 1
    holders: int = 1

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if len({*self.classes}) < len(self.classes):
            raise ValueError("classes: one of them stands there twice")
        if faults := find_label_faults(self.classes):
            raise ValueError(f"classes: {faults[0]}")
        if self.words and {*self.words} != {*self.classes}:
            raise ValueError("words: every class needs some, under its own name")
        if len(self.owner) < 2:
            raise ValueError("a run of several owners has at least two, each under a line [[owner]]")
        _ = self.clinics
        return self

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a roster. For an invalid roster, ``UsageError`` states the first fault."""
        try:
            return cls.model_validate(read_toml(path, "roster"))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(each + 1) if isinstance(each, int) else each for each in first["loc"])
            raise UsageError(f"roster {path}: {f'{place}: ' if place else ''}{word_fault(first)}") from None

    @property
    def clinics(self) -> Clinics:
        """Return the owners as in a plan."""
        return Clinics(owners=self.owner, colluding=self.colluding, holders=self.holders)

    @property
    def digest(self) -> str:
        """SHA-256 of the roster's content, hex. Owners compare it by telephone."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @property
    def labels(self) -> dict[str, str]:
        """Return the classes' names in the plan by folder name, in the plan's order."""
        if self.words:
            folders = [*self.words]
            return dict(zip(folders, choose_labels([*self.words.values()]), strict=True))
        return {each: each for each in sorted(map(nfc, self.classes))}
