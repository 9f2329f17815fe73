"""Private pixels in the place of an image that the provider made."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import struct
import zlib
from collections.abc import Callable

import numpy as np
from PIL import Image

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each
from leaks.world import CREATES, ECHOES, VARIES, World
from pcevolve.public.release import Candidate, Prototype, PublicEcho
from support.provider import png

Forge = Callable[[bytes], bytes]
"""From the received bytes to what is sent in their place."""


def _array(received: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(received)).convert("RGB"))


def _low_bits(received: bytes) -> bytes:
    return secrets.encoded((_array(received) & 0xFE) | (secrets.pixels() >> 7))


def _one_pixel(received: bytes) -> bytes:
    changed = _array(received).copy()
    changed[3, 5, 1] ^= 1
    return secrets.encoded(changed)


def _chunk(kind: bytes, data: bytes) -> Forge:
    """The received PNG with one more chunk before its end."""
    framed = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return lambda received: received[:-12] + framed + received[-12:]


FORGED: dict[str, Forge] = {
    "whole": lambda _: secrets.encoded(secrets.pixels()),
    "cropped": lambda _: secrets.encoded(secrets.pixels()[2:14, 1:13]),
    "flipped": lambda _: secrets.encoded(secrets.pixels()[:, ::-1]),
    "turned": lambda _: secrets.encoded(np.rot90(secrets.pixels())),
    "inverted": lambda _: secrets.encoded(255 - secrets.pixels()),
    "as JPEG": lambda _: secrets.encoded(secrets.pixels(), "JPEG"),
    "as WebP": lambda _: secrets.encoded(secrets.pixels(), "WEBP", lossless=True),
    "as BMP": lambda _: secrets.encoded(secrets.pixels(), "BMP"),
    "with its text chunk": lambda _: secrets.with_text(secrets.pixels()),
    "with its EXIF": lambda _: secrets.with_exif(secrets.pixels(), "JPEG"),
    "in a received image's low bits": _low_bits,
    "as one changed pixel": _one_pixel,
    "blended into a received image": lambda received: secrets.encoded(
        (0.9 * _array(received) + 0.1 * secrets.pixels()).astype(np.uint8)
    ),
    "beside a received image": lambda received: secrets.encoded(
        np.hstack([_array(received), secrets.pixels()])
    ),
    "behind a received image's end": lambda received: received + secrets.encoded(secrets.pixels()),
    "as one trailing byte": lambda received: received + b"\x01",
    "in a received image's text chunk": _chunk(b"tEXt", b"Comment\0" + secrets.PERSON.encode()),
    "in a received image's EXIF": _chunk(b"eXIf", b"MM\0*" + secrets.EXIF.encode()),
    "in the choice of compression": lambda received: secrets.encoded(_array(received), compress_level=0),
    "received by another run": lambda _: png(4242),
    "nothing": lambda _: b"",
}


def _stored(world: World, honest: Candidate, forge: Forge, received: bytes) -> Candidate:
    """A candidate that says what an image is, with the image where received ones are kept."""
    digest = world.run.transcript.bodies.keep(forge(received))
    return dataclasses.replace(honest, digest=digest)


def in_candidate(forge: Forge) -> Act:
    """The loop hands over a candidate of its own making, for the honest reason."""
    return lambda world: world.send(_stored(world, world.candidate, forge, world.bytes_of(world.candidate)))


def in_prototype(forge: Forge) -> Act:
    """An honest prototype's constructor is asked."""
    return lambda world: Prototype(
        _stored(world, world.candidate, forge, world.bytes_of(world.candidate)), world.source.receipt
    )


def _attached(forge: Forge) -> Act:
    """Text-to-image, but the loop says that the call varies something."""

    def act(world: World) -> object:
        call = world.call
        honest = Candidate.received(call, 0, None, png(1), "image/png")
        return world.ask(source=PublicEcho(_stored(world, honest, forge, png(1))))

    return act


def _digest_of_words(world: World) -> object:
    """A digest that is of private words, of which nothing is stored."""
    words = hashlib.sha256(secrets.PERSON.encode()).hexdigest()
    return world.send(dataclasses.replace(world.candidate, digest=words))


ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for name, forge in FORGED.items()
        for attempt in (
            *at_each(
                (*VARIES, *ECHOES),
                "private pixels in a candidate",
                name,
                in_candidate(forge),
                "is not what the API sent|names another candidate",
            ),
            *at_each(
                ("vary-1", "vary-2"),
                "private pixels in a prototype",
                name,
                in_prototype(forge),
                "no receipt for its class and iteration",
            ),
            *at_each(
                CREATES, "private pixels with a text prompt", name, _attached(forge), "must carry no image"
            ),
        )
    ),
    *at_each(
        (*VARIES, *ECHOES),
        "private pixels in a candidate",
        "a digest of private words",
        _digest_of_words,
        "is not what the API sent|names another candidate",
    ),
]
