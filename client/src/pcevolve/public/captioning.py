"""Captions of private images as a release has them (GCap). NOT PRIVATE: nothing hides what they say.

A measurement holds the captions of all classes in one spelling, and a prompt follows from it and the public words of
its class. Gate and audit both make prompts from the measurement; neither takes a caption from anybody.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pcevolve.public.wordings import in_one_line

LONGEST: Final = 400
"""Characters of a caption."""
NOTHING_SAID: Final = "no description"
"""Caption of an image of which a captioner says nothing that can be shown."""

Captions = tuple[tuple[str, ...], ...]
"""Of each class, in the order of the labels, as many as the plan says."""
Kind = Literal["attributes", "model", "chat"]


class Captioner(BaseModel):
    """Who looks at private images and says in words what they show; part of the plan of a run with captions.

    Attributes:
        kind: ``attributes`` that are measured without any model, a ``model`` of images and words on the owner's
            machine, or a ``chat`` API, which is sent the private images.
        name: Of the model: a hub's id, the last name of its directory, or what the chat API calls it.
        at: Address of the chat API; empty for the others.
        weights: SHA-256, hex, of a local model's files; empty for the others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind = "attributes"
    name: Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    at: Annotated[str, Field(max_length=500, pattern=r"^(https?://[^@\s]+)?$")] = ""
    weights: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""

    @model_validator(mode="after")
    def _says_who(self) -> Self:
        said = (bool(self.name), bool(self.at), bool(self.weights))
        due = {
            "attributes": (False, False, False),
            "model": (True, False, True),
            "chat": (True, True, False),
        }
        if said != due[self.kind]:
            raise ValueError(
                "captioner: a model has a name and a digest, a chat API a name and an address, attributes nothing"
            )
        return self

    @property
    def host(self) -> str:
        """Who gets private images themselves, by host and port; empty where nobody does."""
        return urlsplit(self.at).netloc

    @property
    def spelled(self) -> str:
        """Who it is, for people."""
        if self.kind == "chat":
            return f"{self.name} at {self.at}"
        return (
            f"the model {self.name} on the owner's machine" if self.kind == "model" else "measured attributes"
        )


def one_caption(said: str) -> str:
    """What a captioner said, as a caption: one line of visible characters, cut to ``LONGEST``, never empty."""
    words = in_one_line(unicodedata.normalize("NFC", said))[:LONGEST].strip()
    return words or NOTHING_SAID


def measurement_of(captions: Sequence[Sequence[str]]) -> bytes:
    """What is kept of the captions of all classes: JSON in one spelling."""
    return json.dumps([list(each) for each in captions], ensure_ascii=False, separators=(",", ":")).encode()


def captions_in(measurement: bytes, classes: int, wanted: int) -> Captions:
    """The captions in a measurement.

    Args:
        measurement: See ``measurement_of``.
        classes: How many there are.
        wanted: Captions of each.

    Raises:
        ValueError: The measurement is not in the one form that the plan gives it.
    """
    try:
        found: Any = json.loads(measurement)
    except (ValueError, RecursionError):
        raise ValueError("the measurement holds no captions") from None
    if not _has_form(found, classes, wanted) or measurement_of(found) != measurement:
        raise ValueError("the measurement's captions are not of the plan's form and number")
    return tuple(tuple(each) for each in found)


def digest_of(caption: str) -> str:
    """SHA-256 of a caption, hex: what a receipt has of it."""
    return hashlib.sha256(caption.encode()).hexdigest()


def _has_form(found: object, classes: int, wanted: int) -> bool:
    return (
        isinstance(found, list)
        and len(found) == classes
        and all(
            isinstance(each, list) and len(each) == wanted and all(map(_is_caption, each)) for each in found
        )
    )


def _is_caption(said: object) -> bool:
    return isinstance(said, str) and one_caption(said) == said
