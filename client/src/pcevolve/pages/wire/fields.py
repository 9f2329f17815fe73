"""Takes a recorded body apart into fields, spelled as they were on the wire; images stay references."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pcevolve.transcript.bodies import PLACEHOLDER

WHOLE = "(whole body)"
MOST_FIELDS = 200
MOST_CHARACTERS = 2000
_FORM = re.compile(r"--([^\r\n]{1,70})\r\n")
WIDE = 24  # characters that no longer fit beside another field


@dataclass(frozen=True)
class Part:
    """Text, or an image in its place.

    Attributes:
        text: What is written; empty for an image.
        image: Digest of the image.
        left_out: Characters that are too many to show.
    """

    text: str
    image: str | None = None
    left_out: int = 0


@dataclass(frozen=True)
class Field:
    """A value and where it stands, such as ``init_images[0]``."""

    name: str
    parts: tuple[Part, ...]

    @property
    def wide(self) -> bool:
        """Whether it needs a line of its own."""
        return any(each.image or len(each.text) > WIDE for each in self.parts)


class _Pairs(tuple[tuple[str, Any], ...]):
    """An object with every name that was written, also one that was written twice."""


def fields(text: str) -> tuple[list[Field], int]:
    """The fields of a body, and how many more there are; what is neither JSON nor a form is one field."""
    pairs = leaves(text)
    shown = [Field(name, tuple(parts(value))) for name, value in pairs[:MOST_FIELDS]]
    return shown, len(pairs) - len(shown)


def leaves(text: str) -> list[tuple[str, str]]:
    """Name and whole value of each field of a body; images are placeholders in the values."""
    try:
        loaded = json.loads(
            text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str
        )
        found = list(_leaves("", loaded))
    except (ValueError, RecursionError):
        found = _form(text)
    return [(name or WHOLE, value) for name, value in found]


def cut(text: str, most: int = MOST_CHARACTERS) -> Part:
    """The beginning of a text, as much as is shown, and how much is left out."""
    return Part(text[:most], left_out=max(0, len(text) - most))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any JSON
    if isinstance(value, _Pairs) and value:
        for key, inner in value:
            yield from _leaves(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _leaves(f"{name}[{place}]", inner)
    else:
        yield name, value if isinstance(value, str) else json.dumps({} if value == () else value)


def _form(text: str) -> list[tuple[str, str]]:
    """The parts of a multipart form, each under all that its head says; anything else is one whole."""
    form = _FORM.match(text)
    if form is None:
        return [(WHOLE, text)]
    first, *parts, last = f"\r\n{text}".split(f"\r\n--{form[1]}")
    if first or last.strip("\r\n") != "--" or not all("\r\n\r\n" in part for part in parts):
        return [(WHOLE, text)]
    split = (part.partition("\r\n\r\n") for part in parts)
    return [("; ".join(head.strip().splitlines()), content) for head, _, content in split]


def parts(text: str) -> Iterator[Part]:
    """Text and images in turn: splitting leaves text at even places and digests at odd ones."""
    for place, piece in enumerate(PLACEHOLDER.split(text)):
        if place % 2:
            yield Part("", piece)
        elif piece:
            yield cut(piece)
