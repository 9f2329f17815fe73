"""Looks for words in a folder as a curious reader would: in names, in bytes, and in what bytes are packed into."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet
from PIL import Image

_BASE64 = re.compile(rb"[A-Za-z0-9+/]{40,}={0,2}")
_DEEPEST = 4


def find_traces(root: Path, words: Iterable[str]) -> list[tuple[str, str]]:
    """Each word that is in a folder, and where, however a program may have spelled it; upper or lower case."""
    spelled = {spelling.lower(): word for word in words for spelling in _spell(word)}
    found = []
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        texts = [name.encode()]
        if path.is_symlink():
            texts.append(str(path.readlink()).encode())
        elif path.is_file():
            texts += _unpack(path.read_bytes())
        every = b"\n".join(texts).lower()
        found += [(word, name) for spelling, word in spelled.items() if spelling in every]
    return found


def _spell(word: str) -> Iterator[bytes]:
    yield word.encode()
    yield quote(word).encode()
    yield json.dumps(word)[1:-1].encode()
    yield word.replace("&", "&amp;").replace("'", "&#39;").encode()
    yield word.encode("utf-16-le")


def _unpack(data: bytes, depth: int = 0) -> Iterator[bytes]:
    """Bytes, and all that they hold in forms that programs write."""
    yield data
    if depth == _DEEPEST:
        return
    for inner in _list_inner(data):
        yield from _unpack(inner, depth + 1)


def _list_inner(data: bytes) -> Iterator[bytes]:
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for info in packed.infolist():
                yield info.filename.encode() + info.comment + info.extra + repr(info.date_time).encode()
                yield packed.read(info)
    elif data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar:
                yield f"{member.name} {member.uname} {member.gname} {member.pax_headers}".encode()
                if (file := tar.extractfile(member)) is not None:
                    yield file.read()
    elif data.startswith(b"\x1f\x8b"):
        yield gzip.decompress(data)
    elif data.startswith((b"\x89PNG", b"\xff\xd8")):
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            yield repr(image.info).encode() + image.tobytes()
    elif data.startswith(b"PAR1"):
        table = pyarrow.parquet.read_table(io.BytesIO(data))
        yield repr(table.schema.metadata).encode()
        for row in table.to_pylist():
            yield from _list_values(row)
    elif data[:1] == b"\x78":
        try:
            yield zlib.decompress(data)
        except zlib.error:
            return
    else:
        for each in _BASE64.findall(data):
            yield base64.b64decode(each + b"=" * (-len(each) % 4), validate=False)


def _list_values(value: object) -> Iterator[bytes]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield str(name).encode()
            yield from _list_values(each)
    else:
        yield value if isinstance(value, bytes) else str(value).encode()
