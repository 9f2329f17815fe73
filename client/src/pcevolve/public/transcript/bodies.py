"""Content-addressed storage of the bodies that crossed the wire; every image is stored once.

In a stored body, each image is replaced by its digest, so that the exact bytes can be restored and checked.
In JSON strings, images are base64, with or without a data URL's prefix; in forms they are raw bytes.
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
from pcevolve.public.transcript.chain import MOST_BYTES, StoredFiles
from pcevolve_shared import containers, limits

MOST_LOGGED_BYTES = 2**18
"""Largest number of bytes of a body's text in the log. A longer body is stored as a file.

The log is always read completely.
"""
PLACEHOLDER = re.compile(r"\{\{(?:raw-)?sha256:([0-9a-f]{64})\}\}")
_GAP = re.compile(rb"\{\{(raw-)?sha256:([0-9a-f]{64})\}\}")
_BASE64 = re.compile(rb'"((?:data:[a-z]+/[a-z0-9.+-]+;base64,)?)([A-Za-z0-9+/]{64,}={0,2})"')
_FORM = re.compile(rb"--([0-9A-Za-z'()+_,./:=?-]{1,70})\r\n")


class BodyRef(BaseModel):
    """Exact bytes by reference.

    Attributes:
        sha256: Digest of the complete body as it crossed the wire.
        text: The body with images replaced by placeholders; None if the complete body is one stored file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Digest
    size: Annotated[int, Field(ge=0)]
    text: str | None

    @property
    def files(self) -> tuple[str, ...]:
        """Digests of the stored files that make up the body."""
        return (self.sha256,) if self.text is None else tuple(PLACEHOLDER.findall(self.text))


class Bodies(StoredFiles):
    """A folder of stored files that stores bodies without their images, and restores them."""

    def put(self, body: bytes) -> BodyRef:
        """Store a body durably and return a reference to it."""
        taken = cut(body)
        self._write(*((body,) if taken.text is None else taken.files.values()))
        return BodyRef(sha256=hashlib.sha256(body).hexdigest(), size=len(body), text=taken.text)

    def keep(self, data: bytes) -> str:
        """Store one output durably and return its digest."""
        (digest,) = self._write(data)
        return digest

    def get(self, ref: BodyRef) -> bytes:
        """Restore a body (``TranscriptError`` if it is missing, changed, or larger than the record states)."""
        # Bound the total by the recorded size, because a short text may name one file a million times.
        left = min(ref.size, MOST_BYTES)

        def file(digest: str) -> bytes:
            nonlocal left
            data = self.file(digest)
            left -= len(data)
            if left < 0:
                raise _make_error(ref)
            return data

        body = file(ref.sha256) if ref.text is None else _join(ref.text, file)
        # The digests of the files do not cover the text between the images, so check the complete body too.
        if len(body) != ref.size or hashlib.sha256(body).hexdigest() != ref.sha256:
            raise _make_error(ref)
        return body

    def keep_only(self, digests: Collection[str]) -> None:
        """Remove files that no record refers to; a crash may leave such files behind."""
        for path in self.folder.iterdir():
            if path.name not in digests:
                path.unlink()

    def _write(self, *several: bytes) -> list[str]:
        named = {hashlib.sha256(data).hexdigest(): data for data in several}
        # Files are named by their content, so an existing file already has the same content.
        missing = {path: data for name, data in named.items() if not (path := self.folder / name).exists()}
        # Fixed file times, because the times of consecutive files would show how long private work took. Private
        # work is padded to hide its duration.
        write_files_durably(missing, timeless=True)
        return list(named)


@dataclass
class CutBody:
    """A body split into its images and its ``text`` with placeholders.

    ``text`` is None if the split cannot be reversed exactly.
    """

    text: str | None = None
    files: dict[str, bytes] = field(default_factory=dict)

    def take(self, data: bytes) -> bytes:
        """Remove an image from the body and return the digest for its placeholder."""
        digest = hashlib.sha256(data).hexdigest()
        self.files[digest] = data
        return digest.encode()


def _make_error(ref: BodyRef) -> TranscriptError:
    return TranscriptError(f"a recorded body is not what crossed the wire (sha256 {ref.sha256[:12]}…)")


def cut(body: bytes) -> CutBody:
    """Split a body into text and images; each body has exactly one such split."""
    taken = CutBody()
    form = _FORM.match(body)
    bare = (
        _cut_form(taken, body, form[1])
        if form
        # A batch bounds the number of images. The limit avoids decoding a body of a million words word by word.
        else _BASE64.sub(lambda match: _cut_word(taken, match), body, limits.MAX_BATCH)
    )
    if len(bare) > MOST_LOGGED_BYTES:
        return CutBody()
    try:
        text = bare.decode("utf-8")
        # Join the parts again and compare before accepting the split: base64 has several spellings, and forms have
        # several line ends.
        whole = _join(text, taken.files.__getitem__) == body
    except (UnicodeDecodeError, KeyError):  # the text itself contains a placeholder: store the complete body
        return CutBody()
    return CutBody(text, taken.files) if whole else CutBody()


def _cut_word(taken: CutBody, match: re.Match[bytes]) -> bytes:
    try:
        data = base64.b64decode(match[2], validate=True)
        # Require the first bytes of an image, so that a long word of a prompt stays readable in the log.
        containers.media_type(data)
    except (binascii.Error, containers.ImageError):  # a long word that is not an image
        return match[0]
    return b'"' + match[1] + b"{{sha256:" + taken.take(data) + b'}}"'


def _cut_form(taken: CutBody, body: bytes, boundary: bytes) -> bytes:
    """Return a multipart form with a placeholder for each of its files."""
    delimiter = b"\r\n--" + boundary
    return delimiter.join(_cut_part(taken, part) for part in body.split(delimiter))


def _cut_part(taken: CutBody, part: bytes) -> bytes:
    head, blank, content = part.partition(b"\r\n\r\n")
    if not content or b"filename=" not in head:
        return part
    return head + blank + b"{{raw-sha256:" + taken.take(content) + b"}}"


def _join(text: str, file: Callable[[str], bytes]) -> bytes:
    """Restore a body from its text and the files that the text names."""

    def fill(match: re.Match[bytes]) -> bytes:
        data = file(match[2].decode("ascii"))
        return data if match[1] else base64.b64encode(data)

    return _GAP.sub(fill, text.encode("utf-8"))
