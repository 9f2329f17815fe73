"""Content-addressed storage of what crossed the wire; every image is stored once.

A body is kept as its text with each image cut out and replaced by the image's digest, so that the exact bytes can be
put together again and checked. Images stand in JSON strings as base64, bare or as a data URL, and in forms as they are.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pcevolve.errors import TranscriptError
from pcevolve.public.durable import write_files_durably
from pcevolve.public.settings import Digest
from pcevolve.public.transcript.stored import MOST_BYTES, StoredFiles
from pcevolve_shared import containers, limits

MOST_LOGGED_BYTES = 2**18
"""Of a body's text in the log, which is read as a whole; a longer one, as of images with escapes, is a file."""
PLACEHOLDER = re.compile(r"\{\{(?:raw-)?sha256:([0-9a-f]{64})\}\}")
_GAP = re.compile(rb"\{\{(raw-)?sha256:([0-9a-f]{64})\}\}")
_BASE64 = re.compile(rb'"((?:data:[a-z]+/[a-z0-9.+-]+;base64,)?)([A-Za-z0-9+/]{64,}={0,2})"')
_FORM = re.compile(rb"--([0-9A-Za-z'()+_,./:=?-]{1,70})\r\n")


class BodyRef(BaseModel):
    """Exact bytes by reference.

    Attributes:
        sha256: Digest of the whole body as it crossed the wire.
        text: The body with images replaced by placeholders; None when ``sha256`` itself is a stored file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Digest
    size: Annotated[int, Field(ge=0)]
    text: str | None

    @property
    def files(self) -> tuple[str, ...]:
        """Digests of the stored files that the body is made of."""
        return (self.sha256,) if self.text is None else tuple(PLACEHOLDER.findall(self.text))


class Bodies(StoredFiles):
    """A folder of stored files in which bodies are put, less the images in them, and put together again."""

    def put(self, body: bytes) -> BodyRef:
        """Store a body durably and return how to get it back."""
        taken = cut(body)
        self._write(*((body,) if taken.text is None else taken.files.values()))
        return BodyRef(sha256=hashlib.sha256(body).hexdigest(), size=len(body), text=taken.text)

    def keep(self, data: bytes) -> str:
        """Store one output durably and return its digest."""
        (digest,) = self._write(data)
        return digest

    def get(self, ref: BodyRef) -> bytes:
        """Put a body together again; ``TranscriptError`` for what is missing, changed, or larger than it says."""
        # As large as the line says, at most: a few bytes of text may name one file a million times.
        left = min(ref.size, MOST_BYTES)

        def file(digest: str) -> bytes:
            nonlocal left
            data = self.file(digest)
            left -= len(data)
            if left < 0:  # one file may be named a million times
                raise _make_error(ref)
            return data

        body = file(ref.sha256) if ref.text is None else _join(ref.text, file)
        # The whole again, after its files were checked: the text between the images is in the log alone.
        if len(body) != ref.size or hashlib.sha256(body).hexdigest() != ref.sha256:
            raise _make_error(ref)
        return body

    def keep_only(self, digests: Collection[str]) -> None:
        """Remove files that no record refers to: leftovers of a crash."""
        for path in self.folder.iterdir():
            if path.name not in digests:
                path.unlink()

    def _write(self, *several: bytes) -> list[str]:
        named = {hashlib.sha256(data).hexdigest(): data for data in several}
        # Content-addressed: what is there already is the same.
        missing = {path: data for name, data in named.items() if not (path := self.folder / name).exists()}
        # When a measurement was written, and the file after it, tells how long private work took, which is padded.
        write_files_durably(missing, timeless=True)
        return list(named)


@dataclass
class CutBody:
    """A body taken apart: its images, and its ``text`` with placeholders, None where that cannot be undone."""

    text: str | None = None
    files: dict[str, bytes] = field(default_factory=dict)

    def take(self, data: bytes) -> bytes:
        """Take out an image, and return the name that stands for it."""
        digest = hashlib.sha256(data).hexdigest()
        self.files[digest] = data
        return digest.encode()


def _make_error(ref: BodyRef) -> TranscriptError:
    return TranscriptError(f"a recorded body is not what crossed the wire (sha256 {ref.sha256[:12]}…)")


def cut(body: bytes) -> CutBody:
    """Take the images out of a body: the one way in which it is written down."""
    taken = CutBody()
    form = _FORM.match(body)
    bare = (
        _cut_form(taken, body, form[1])
        if form
        # No more than a batch has, so that a body of a million words is not decoded word by word.
        else _BASE64.sub(lambda match: _cut_word(taken, match), body, limits.MAX_BATCH)
    )
    if len(bare) > MOST_LOGGED_BYTES:
        return CutBody()
    try:
        text = bare.decode("utf-8")
        # Put together again before it is believed: base64 has more than one
        # spelling, and forms more than one end of line.
        whole = _join(text, taken.files.__getitem__) == body
    except (UnicodeDecodeError, KeyError):  # the text itself looks like a placeholder: keep it whole instead
        return CutBody()
    return CutBody(text, taken.files) if whole else CutBody()


def _cut_word(taken: CutBody, match: re.Match[bytes]) -> bytes:
    try:
        data = base64.b64decode(match[2], validate=True)
        # Only what is an image by its first bytes: a long word of a prompt stays readable in the log.
        containers.media_type(data)
    except (binascii.Error, containers.ImageError):  # a long word is no image
        return match[0]
    return b'"' + match[1] + b"{{sha256:" + taken.take(data) + b'}}"'


def _cut_form(taken: CutBody, body: bytes, boundary: bytes) -> bytes:
    """A multipart form with a placeholder for each of its files."""
    delimiter = b"\r\n--" + boundary
    return delimiter.join(_cut_part(taken, part) for part in body.split(delimiter))


def _cut_part(taken: CutBody, part: bytes) -> bytes:
    head, blank, content = part.partition(b"\r\n\r\n")
    if not content or b"filename=" not in head:
        return part
    return head + blank + b"{{raw-sha256:" + taken.take(content) + b"}}"


def _join(text: str, file: Callable[[str], bytes]) -> bytes:
    """A body put together again from its text and the files that it names."""

    def fill(match: re.Match[bytes]) -> bytes:
        data = file(match[2].decode("ascii"))
        return data if match[1] else base64.b64encode(data)

    return _GAP.sub(fill, text.encode("utf-8"))
