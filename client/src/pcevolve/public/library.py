"""The statement of a provider that generates nothing: its images are real public ones, under these licences.

It is the provider's word. It is recorded, shown as text and compared with the record, and nothing else depends on it:
neither what is sent nor what is promised.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pcevolve.errors import spelled_out
from pcevolve.public.settings import Digest

LONGEST_LINE = 256
LONGEST_TEXT = 4096


def _readable(text: str) -> str:
    if not all(each.isprintable() or each == "\n" for each in text):
        raise ValueError("has characters that cannot be seen")
    return text


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of characters that can be seen")
    return text


Line = Annotated[str, Field(max_length=LONGEST_LINE), AfterValidator(_one_line)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_readable)]
Count = Annotated[int, Field(ge=1, le=10**12)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Licence(_Part):
    """A licence and how many of the library's images are under it."""

    name: Line
    images: Count


class LicenceFile(_Part):
    """A licence, a notice or a list of sources.

    Attributes:
        name: Of the file.
        sha256: Of all of it.
        text: Its beginning.
    """

    name: Line
    sha256: Digest
    text: Text


class Library(_Part):
    """A library of public images, in its provider's words.

    Attributes:
        images: How many there are.
        licences: Of single images.
        files: What says under which terms they may be passed on.
    """

    images: Count
    licences: Annotated[tuple[Licence, ...], Field(max_length=32)] = ()
    files: Annotated[tuple[LicenceFile, ...], Field(max_length=4)] = ()


def readable(text: str) -> str:
    """Somebody else's text, cut, and with what cannot be seen spelled out: it must not mislead who reads it."""
    return spelled_out(text)[:LONGEST_TEXT]


def one_line(text: str) -> str:
    """The same for what belongs into one line."""
    return readable(" ".join(text.split()))[:LONGEST_LINE]
