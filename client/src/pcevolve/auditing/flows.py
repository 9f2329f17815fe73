"""Read the independent recorder's capture (``docker/auditor/record.py`` describes the format).

The reader does not depend on mitmproxy, and shares only the format with the recorder, but no code.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pcevolve.errors import TranscriptError
from pcevolve.public.settings import Digest
from pcevolve.public.transcript.records import Header
from pcevolve_shared.reading import open_file

FORMAT = "pcevolve-capture/2"
MOST_BYTES = 2**40
MOST_LINE = 2**29
"""Largest number of bytes of a capture, and of one of its lines; a line holds a complete body.

A longer line is split, and therefore counts as damaged.
"""


class Request(NamedTuple):
    """A complete request, with headers in the order and spelling of the wire, and with the key hidden.

    Attributes:
        version: HTTP version, as in the request line.
        sha256: SHA-256 of the exact body; None if the body broke off.
    """

    method: str
    target: str
    version: str
    headers: tuple[Header, ...]
    sha256: str | None


class FlowAnswer(NamedTuple):
    """A complete answer, with headers in the order and spelling of the wire, and the SHA-256 of its exact body."""

    status: int
    headers: tuple[Header, ...]
    sha256: str


@dataclass(frozen=True)
class Flow:
    """One request at the recorder. It has no ``answer`` if the API sent no complete answer."""

    line: int
    request: Request
    answer: FlowAnswer | None = None


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Body(_Model):
    sha256: Digest
    base64: str

    def digest(self) -> str:
        """Return the SHA-256 of the captured bytes, whatever digest the line states."""
        return hashlib.sha256(base64.b64decode(self.base64, validate=True)).hexdigest()


class _Opened(_Model):
    event: Literal["opened"]
    time: float
    format: str
    recorder: str


class _Head(_Model):
    method: str
    target: str
    version: str
    headers: tuple[Header, ...]
    body: _Body | None

    def request(self) -> Request:
        """Return the request alone, for comparison with the record."""
        digest = self.body.sha256 if self.body else None
        return Request(self.method, self.target, self.version, self.headers, digest)


class _Requested(_Head):
    event: Literal["request"]
    time: float
    flow: int
    body: _Body


class _Answered(_Model):
    event: Literal["answer"]
    time: float
    flow: int
    status: int
    headers: tuple[Header, ...]
    body: _Body


class _Failed(_Model):
    event: Literal["failed"]
    time: float
    flow: int
    reason: str
    request: _Head | None


_Line = _Opened | _Requested | _Answered | _Failed
_ADAPTER: TypeAdapter[_Line] = TypeAdapter(Annotated[_Line, Field(discriminator="event")])


def read_flows(path: Path) -> tuple[list[Flow], bool]:
    """Read a capture.

    Returns:
        All flows in the order in which their requests began; and True if the last line is incomplete, in which
        case it is omitted.

    Raises:
        TranscriptError: The file is not a capture, or it is damaged.
    """
    flows: dict[tuple[int, int], Flow] = {}
    session, torn = 0, False
    for number, raw in _lines(path):
        # Omit an incomplete line. The recorder writes a line before it passes the message on, so this message was
        # not passed on.
        torn = not raw.endswith(b"\n")
        if torn:
            break
        line = _parse(number, raw)
        if isinstance(line, _Opened):
            if line.format != FORMAT:
                other = f"by another version's recorder, as {line.format[:40]!a}"
                raise TranscriptError(
                    f"capture line {number} was written {other}: audit it with that version"
                )
            # Each start of the recorder numbers its flows from the beginning.
            session += 1
        elif session == 0:
            break
        else:
            _note(flows, (session, line.flow), number, line)
    if session == 0:
        raise TranscriptError(f"{path} is no capture: it does not begin with an opening line")
    return [flows[key] for key in sorted(flows)], torn


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with open_file(path, MOST_BYTES) as file:
            yield from enumerate(iter(partial(file.readline, MOST_LINE), b""), start=1)
    except OSError as error:
        raise TranscriptError(f"capture {path} cannot be read: {error.strerror}") from error


def _parse(number: int, raw: bytes) -> _Line:
    try:
        line = _ADAPTER.validate_json(raw)
        body = line.body if isinstance(line, _Requested | _Answered) else None
        # Compute the digest from the bytes, because the digest in the line may be forged.
        whole = body is None or body.digest() == body.sha256
    except (ValidationError, ValueError) as error:
        raise TranscriptError(f"capture line {number} is damaged") from error
    if not whole:
        raise TranscriptError(f"capture line {number} is damaged: its body does not match its SHA-256")
    return line


def _note(
    flows: dict[tuple[int, int], Flow],
    key: tuple[int, int],
    number: int,
    line: _Requested | _Answered | _Failed,
) -> None:
    """Add a line to its flow."""
    known = flows.get(key)
    begins = isinstance(line, _Requested) or (isinstance(line, _Failed) and line.request is not None)
    if begins != (known is None) or (known is not None and known.answer is not None):
        raise TranscriptError(f"capture line {number} does not follow the lines before it")
    if isinstance(line, _Requested):
        flows[key] = Flow(number, line.request())
    elif isinstance(line, _Answered) and known is not None:
        flows[key] = replace(known, answer=FlowAnswer(line.status, line.headers, line.body.sha256))
    elif isinstance(line, _Failed) and line.request is not None:
        flows[key] = Flow(number, line.request.request())
