"""The chain of a record's lines. Each line carries its number and the digest of the line before it.

This module does not parse the lines' content, so that the state of a run can be read from the chain alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from pcevolve.errors import TranscriptError
from pcevolve.public.settings import Digest
from pcevolve.public.transcript.layout import LOG, not_a_run, require_format
from pcevolve_shared import limits
from pcevolve_shared.reading import parse_json, read_file

GENESIS: Final = "0" * 64
"""The digest that the first line carries."""
PLANNED: Final = "planned"
FINISHED: Final = "finished"
"""Kinds of the line that fixes a run's plan, and of the line that closes its record."""
MOST_LOG_BYTES = 2**32
"""Largest number of bytes of a log. The log of a run with a million images has several hundred million bytes."""


class Line(BaseModel):
    """A record with its number and the digest of the line before it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: Annotated[int, Field(ge=0)]
    prev: Digest
    event: dict[str, Any]

    def encode(self) -> bytes:
        """Encode the line with its newline, in canonical form."""
        # ASCII, sorted keys and no blanks, because the digest covers these bytes, so each line needs a unique form.
        text = json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return text.encode("ascii") + b"\n"


class Link(NamedTuple):
    """A line, and the bytes that it was read from."""

    line: Line
    raw: bytes
    digest: str

    @property
    def kind(self) -> str:
        """The kind of record that the line claims to hold."""
        return str(self.line.event.get("kind"))


def digest(line: bytes) -> str:
    """Return the SHA-256 of an encoded line; the next line carries this digest."""
    return hashlib.sha256(line).hexdigest()


def read_chain(folder: Path) -> Iterator[Link]:
    """Read a log line by line. In an unfinished run, skip a last line that a crash left incomplete.

    Raises:
        UsageError: Another version wrote the log.
        TranscriptError: There is no log, or a line is invalid, missing, moved or incomplete.
    """
    require_format(folder / LOG, folder.parent)
    previous, closed = GENESIS, False
    for number, raw in enumerate(_lines(folder)):
        if not (closed or raw.endswith(b"\n")):  # the action that the line would announce did not happen
            return
        try:
            line = Line.model_validate(parse_json(raw, parse_constant=_no_number))
        except ValueError as error:
            raise TranscriptError(f"transcript line {number + 1} is damaged") from error
        if line.seq != number or line.prev != previous:
            raise TranscriptError(f"transcript line {number + 1} does not follow the line before it")
        link = Link(line, raw, digest(raw))
        previous, closed = link.digest, link.kind == FINISHED
        yield link


def has_plan(folder: Path) -> bool:
    """True if the run whose log is in a folder has fixed its plan. Lines after the plan are not read."""
    return (folder / LOG).exists() and any(each.kind == PLANNED for each in read_chain(folder))


def has_ended(folder: Path) -> bool:
    """True if the log in a folder is complete and ends with its closing line."""
    last = ""
    try:
        for each in read_chain(folder):
            last = each.kind
    except TranscriptError:
        return False
    return last == FINISHED


def _no_number(constant: str) -> None:
    """Refuse NaN and Infinity, which Python's JSON parser accepts although JSON does not allow them."""
    raise ValueError(constant)


def _lines(folder: Path) -> list[bytes]:
    """Return the log's lines with their line ends (``TranscriptError`` if the log is missing or unreadable)."""
    try:
        return read_file(folder / LOG, MOST_LOG_BYTES).splitlines(keepends=True)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TranscriptError(not_a_run(folder.parent, "it has no transcript")) from error
    except OSError as error:
        raise TranscriptError(f"{folder / LOG} cannot be read: {error.strerror}") from error


MOST_BYTES = 2 * limits.MAX_RESPONSE_BYTES
"""Largest number of bytes of a body, and of a stored file."""
_DIGEST = re.compile("[0-9a-f]{64}")


class StoredFiles:
    """A folder of files named by their SHA-256."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, digest: str) -> bytes:
        """Read a stored file and check it against its name (``TranscriptError`` if it is missing or was changed)."""
        # A name that is not a digest could point outside the folder.
        if not _DIGEST.fullmatch(digest):
            raise TranscriptError(f"no transcript file has the name {digest[:80]!a}")
        try:
            data = read_file(self.folder / digest, MOST_BYTES)
        except OSError as error:
            raise TranscriptError(
                f"transcript file {digest[:12]}… cannot be read: {error.strerror}"
            ) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise TranscriptError(f"transcript file {digest[:12]}… was changed")
        return data
