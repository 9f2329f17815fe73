"""The same request in another spelling: bits in whitespace, order, escapes and digits."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

from leaks.attempts import Act, Attempt, at_each

DIFFERS = "differs from what the plan and the release give"
Respell = Callable[[bytes], bytes]


def _json(**options: object) -> Respell:
    honest = {"ensure_ascii": False, "separators": (",", ":")}
    return lambda body: json.dumps(json.loads(body), **{**honest, **options}).encode()


def _reversed(body: bytes) -> bytes:
    fields = json.loads(body)
    return json.dumps(dict(reversed(fields.items())), ensure_ascii=False, separators=(",", ":")).encode()


def _replaced(old: bytes, new: bytes) -> Respell:
    return lambda body: body.replace(old, new, 1)


SPELLINGS: dict[str, Respell] = {
    "a space after a comma": _replaced(b",", b", "),
    "a space after a colon": _replaced(b":", b": "),
    "a space at the end": lambda body: body + b" ",
    "a line end at the end": lambda body: body + b"\r\n",
    "a tab at the beginning": lambda body: b"\t" + body,
    "a byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "indented": _json(indent=1),
    "default separators": _json(separators=None),
    "sorted keys": _json(sort_keys=True),
    "reversed keys": _reversed,
    "an escaped letter": _replaced(b'"seed"', b'"\\u0073eed"'),
    "an escape in upper case": _replaced(b"leather", b"\\u006Ceather"),
    "an escaped slash": _replaced(b"image with", b"image\\u0020with"),
    "7.50": _replaced(b"7.5", b"7.50"),
    "75e-1": _replaced(b"7.5", b"75e-1"),
    "50.0": _replaced(b":50,", b":50.0,"),
    "5e1": _replaced(b":50,", b":5e1,"),
    "a key twice": _replaced(b"{", b'{"steps":7,'),
    "UTF-16": lambda body: body.decode().encode("utf-16"),
    "compressed": lambda body: gzip.compress(body, mtime=0),
    "bytes behind a zero": lambda body: body + b"\0secret",
    "another key's case": _replaced(b'"steps"', b'"Steps"'),
}
BASE64: dict[str, Respell] = {
    "base64 with a line end": _replaced(b'"image":"', b'"image":"\\n'),
    "base64 with padding": _replaced(b'","strength"', b'====","strength"'),
    "base64 for URLs": lambda body: body.replace(b"+", b"-").replace(b"/", b"_"),
    "a data URL": _replaced(b'"image":"', b'"image":"data:image/png;base64,'),
    "a URL in place of the image": lambda body: json.dumps(
        {**json.loads(body), "image": "http://evil.example/?jane"}, separators=(",", ":")
    ).encode(),
    "an escaped plus": _replaced(b"+", b"\\u002b"),
    "the last character's spare bits": lambda body: _spare_bits(body),
}


def _spare_bits(body: bytes) -> bytes:
    """Base64's last character before ``=`` has bits that decoders ignore; without any, one character is changed."""
    end = body.index(b'","strength"')
    last = len(body[:end].rstrip(b"=")) - 1
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = alphabet[alphabet.index(body[last : last + 1]) ^ 1]
    return body[:last] + bytes([other]) + body[last + 1 :]


def _spelled(respell: Respell) -> Act:
    return lambda world: world.send_body(respell(world.request.body))


ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for name, respell in SPELLINGS.items()
        for attempt in at_each(("create-1", "vary-1", "extend"), "spelling", name, _spelled(respell), DIFFERS)
    ),
    *(
        attempt
        for name, respell in BASE64.items()
        for attempt in at_each(("vary-1", "vary-2", "look-0"), "spelling", name, _spelled(respell), DIFFERS)
    ),
]
