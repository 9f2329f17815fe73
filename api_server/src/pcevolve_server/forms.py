"""Forms with a file in them (RFC 7578), read strictly: what is not in the common shape is refused, not guessed at.

The body is already bounded when it gets here, and so is what is kept of it: nothing is copied twice.
"""

import re
from typing import Final

from pcevolve_server.errors import InvalidRequestError

_MAX_PARTS: Final = 32
_MAX_HEAD_BYTES: Final = 2048
_KIND: Final = re.compile(
    r'multipart/form-data; *boundary=("?)([0-9A-Za-z\'()+_,./:=?-]{1,70})\1', re.IGNORECASE
)
_NAME: Final = re.compile(
    rb'(?:^|\r\n)content-disposition: *form-data; *name="([A-Za-z0-9_\[\]]{1,64})"', re.IGNORECASE
)


def parse(content_type: str, body: bytes) -> dict[str, bytes]:
    """Return the parts by name.

    Args:
        content_type: The header, which names the boundary.
        body: All of it.

    Raises:
        InvalidRequestError: Not a form, not a whole one, or one with a part twice.
    """
    kind = _KIND.fullmatch(content_type.strip())
    if kind is None:
        raise InvalidRequestError("the body is not multipart/form-data with a boundary")
    pieces = (b"\r\n" + body).split(b"\r\n--" + kind[2].encode("ascii"), _MAX_PARTS + 2)
    if len(pieces) < 2 or pieces[0] or pieces[-1].rstrip(b"\r\n") != b"--":
        raise InvalidRequestError(
            "the form is cut off, has too many parts, or does not begin with its boundary"
        )
    parts: dict[str, bytes] = {}
    for piece in pieces[1:-1]:
        name, content = _part(piece)
        if name in parts:
            raise InvalidRequestError(f"{name}: there twice")
        parts[name] = content
    return parts


def _part(piece: bytes) -> tuple[str, bytes]:
    end = piece.find(b"\r\n\r\n", 0, _MAX_HEAD_BYTES)
    name = _NAME.search(piece[2:end]) if piece.startswith(b"\r\n") and end > 0 else None
    if name is None:
        raise InvalidRequestError("a part of the form has no name, or one that is not plain")
    return name[1].decode("ascii").removesuffix("[]"), piece[end + 4 :]
