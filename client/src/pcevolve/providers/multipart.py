"""Form bodies with a file in them (RFC 7578), in one spelling: equal calls are equal bytes.

The boundary is a hash of what it separates, so it is as public as the call itself; a library's random one would be
bytes that leave and that nobody can predict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from pcevolve_shared import images

_SUFFIXES: Final = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}


def form(fields: Mapping[str, str], image: bytes | None) -> tuple[str, bytes]:
    """Lay out a form.

    Args:
        fields: Text parts, in this order; their names are the dialect's own, never a caller's.
        image: The file part named ``image``, which comes last.

    Returns:
        The content type, and the body.
    """
    parts = [_text(name, value) for name, value in fields.items()]
    if image is not None:
        parts.append(_file(image))
    boundary = _boundary(parts)
    line = b"--" + boundary.encode()
    body = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    return f"multipart/form-data; boundary={boundary}", body


def _text(name: str, value: str) -> bytes:
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()


def _file(image: bytes) -> bytes:
    kind = images.media_type_or_bytes(image)
    name = f"image.{_SUFFIXES.get(kind, 'bin')}"
    head = f'Content-Disposition: form-data; name="image"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'
    return head.encode() + image


def _boundary(parts: list[bytes]) -> str:
    """A hash of all parts: none of them can hold it, for nobody can write down a text that names its own hash."""
    return hashlib.sha256(b"\r\n".join(parts)).hexdigest()[:40]
