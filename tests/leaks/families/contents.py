"""Private pixels or sentences in the place of what the provider made: handed over as a candidate, or put on disk."""

from __future__ import annotations

import dataclasses
import hashlib
import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from leaks import secrets
from leaks.attempts import Act, Attempt, attempts
from leaks.world import CREATES, ECHOES, VARIES, World
from pcevolve.errors import TranscriptError
from pcevolve.public.release import Candidate, Prototype, PublicEcho
from support.pngs import chunk
from support.provider import png

Forge = Callable[[bytes], bytes]
"""From the received bytes to what is sent in their place."""
UNSENT = "is not what the API sent|names another candidate"
NO_RECEIPT = "no receipt for its class and iteration"
SENTENCE = f"{secrets.PERSON} of {secrets.UNIT} has had a fever for three days".encode()
ALIKE = str.maketrans("aeio", "\u0430\u0435\u0456\u043e")
"""Latin letters as Cyrillic ones."""


def _array(received: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(received)).convert("RGB"))


def _drawn(change: Callable[[np.ndarray], np.ndarray], form: str = "PNG", **options: object) -> Forge:
    """The private image, changed, in another file format."""
    return lambda _: secrets.list_encodings(change(secrets.pixels()), form, **options)


def _within(change: Callable[[np.ndarray], np.ndarray]) -> Forge:
    """A received image, changed."""
    return lambda received: secrets.list_encodings(change(_array(received)))


def _one_pixel(pixels: np.ndarray) -> np.ndarray:
    changed = pixels.copy()
    changed[3, 5, 1] ^= 1
    return changed


def _with_chunk(name: bytes, content: bytes) -> Forge:
    """The received PNG with one more chunk before its end."""
    return lambda received: received[:-12] + chunk(name, content) + received[-12:]


def _letters(received: bytes) -> bytes:
    """Which letters are large says the sentence, bit by bit."""
    bits = f"{int.from_bytes(SENTENCE, 'big'):b}"
    return "".join(
        each.upper() if bit == "1" else each for each, bit in zip(received.decode(), bits, strict=False)
    ).encode()


IMAGES: dict[str, Forge] = {
    "whole": _drawn(lambda pixels: pixels),
    "cropped": _drawn(lambda pixels: pixels[2:14, 1:13]),
    "flipped": _drawn(lambda pixels: pixels[:, ::-1]),
    "turned": _drawn(np.rot90),
    "inverted": _drawn(lambda pixels: 255 - pixels),
    "as JPEG": _drawn(lambda pixels: pixels, "JPEG"),
    "as WebP": _drawn(lambda pixels: pixels, "WEBP", lossless=True),
    "as BMP": _drawn(lambda pixels: pixels, "BMP"),
    "with its text chunk": lambda _: secrets.with_text(secrets.pixels()),
    "with its EXIF": lambda _: secrets.with_exif(secrets.pixels(), "JPEG"),
    "in a received image's low bits": _within(lambda pixels: (pixels & 0xFE) | (secrets.pixels() >> 7)),
    "as one changed pixel": _within(_one_pixel),
    "blended into a received image": _within(
        lambda pixels: (0.9 * pixels + 0.1 * secrets.pixels()).astype(np.uint8)
    ),
    "beside a received image": _within(lambda pixels: np.hstack([pixels, secrets.pixels()])),
    "behind a received image's end": lambda received: received + secrets.list_encodings(secrets.pixels()),
    "as one trailing byte": lambda received: received + b"\x01",
    "in a received image's text chunk": _with_chunk(b"tEXt", b"Comment\0" + secrets.PERSON.encode()),
    "in a received image's EXIF": _with_chunk(b"eXIf", b"MM\0*" + secrets.EXIF.encode()),
    "in the choice of compression": lambda received: secrets.list_encodings(
        _array(received), compress_level=0
    ),
    "received by another run": lambda _: png(4242),
    "nothing": lambda _: b"",
}
TEXTS: dict[str, Forge] = {
    "whole": lambda _: SENTENCE,
    "its first half": lambda _: SENTENCE[: len(SENTENCE) // 2],
    "its second half": lambda _: SENTENCE[len(SENTENCE) // 2 :],
    "backwards": lambda _: SENTENCE[::-1],
    "in hexadecimal": lambda _: SENTENCE.hex().encode(),
    "behind a received text": lambda received: received + b" " + SENTENCE,
    "before a received text": lambda received: SENTENCE + b" " + received,
    "one word in a received text": lambda received: b" ".join([b"feverish", *received.split(b" ")[1:]]),
    "words in another order": lambda received: b" ".join(received.split(b" ")[::-1]),
    "in the case of letters": _letters,
    "in blanks between words": lambda received: received.replace(b" ", b"  ", 1),
    "in a blank at the end": lambda received: received + b" ",
    "in letters that do not show": lambda received: received + "\u200b\u2060".encode(),
    "in letters that look alike": lambda received: received.decode().translate(ALIKE).encode(),
    "in a composed letter": lambda received: received + "e\u0301".encode(),
    "from right to left": lambda received: "\u202e".encode() + received,
    "as bytes that are no text": lambda received: received + b"\xff\xfe",
    "as the number of words": lambda received: b" ".join(received.split(b" ")[:-1]),
    "nothing": lambda _: b"",
}


def _stored(world: World, honest: Candidate, forge: Forge, received: bytes) -> Candidate:
    """A candidate that says what an image is, with the image where received ones are kept."""
    return dataclasses.replace(honest, digest=world.run.transcript.bodies.keep(forge(received)))


def in_candidate(forge: Forge) -> Act:
    """The loop hands over a candidate of its own making, for the honest reason."""
    return lambda world: world.send(_stored(world, world.candidate, forge, world.bytes_of(world.candidate)))


def in_prototype(forge: Forge) -> Act:
    """An honest prototype's constructor is asked."""
    return lambda world: Prototype(
        _stored(world, world.candidate, forge, world.bytes_of(world.candidate)), world.source.receipt
    )


def attached(forge: Forge) -> Act:
    """Text-to-image, but the loop says that the call varies something."""

    def act(world: World) -> object:
        honest = Candidate.received(world.call, 0, None, png(1))
        return world.ask(source=PublicEcho(_stored(world, honest, forge, png(1))))

    return act


def overwritten(forge: Forge) -> Act:
    """The file of the very image that may leave, with other content; the loop asks as an honest one does."""

    def act(world: World) -> object:
        path = world.run.transcript.bodies.folder / world.candidate.digest
        world.spoilt = True
        path.write_bytes(forge(path.read_bytes()))
        return world.ask()

    return act


def _exchanged(world: World) -> object:
    """Two received images change places: a bit in which of them leaves."""
    same = world.of_class(world.call.label)
    other = next(each for each in same if each.digest != world.candidate.digest)
    return overwritten(lambda _: world.bytes_of(other))(world)


def _removed(world: World) -> object:
    world.spoilt = True
    (world.run.transcript.bodies.folder / world.candidate.digest).unlink()
    return world.ask()


def _digest_of_words(world: World) -> object:
    """A digest that is of private words, of which nothing is stored."""
    words = hashlib.sha256(secrets.PERSON.encode()).hexdigest()
    return world.send(dataclasses.replace(world.candidate, digest=words))


def _forged(what: str, files: str, forged: dict[str, Forge], spoken: str) -> list[Attempt]:
    """Everything forged, at each place where it could be handed over."""

    def made(way: Callable[[Forge], Act]) -> dict[str, Act]:
        return {name: way(forge) for name, forge in forged.items()}

    disk = {f"overwritten: {name}": act for name, act in made(overwritten).items()}
    varied = ("vary-1", "vary-2")
    return [
        *attempts(f"{what} in a candidate", (*VARIES, *ECHOES), made(in_candidate), UNSENT, spoken=spoken),
        *attempts(f"{what} in a prototype", varied, made(in_prototype), NO_RECEIPT, spoken=spoken),
        *attempts(files, ("vary-1", "look-1"), disk, "was changed", TranscriptError, spoken),
    ]


ATTEMPTS: list[Attempt] = [
    *_forged("private pixels", "files", IMAGES, "getimg"),
    *_forged("private sentences", "files of texts", TEXTS, "chat"),
    *attempts(
        "private pixels with a text prompt",
        CREATES,
        {name: attached(forge) for name, forge in IMAGES.items()},
        "must carry no image",
    ),
    *attempts(
        "private pixels in a candidate",
        (*VARIES, *ECHOES),
        {"a digest of private words": _digest_of_words},
        UNSENT,
    ),
    *attempts(
        "files",
        ("vary-1", "vary-2", "look-0", "extend"),
        {"another received image": (_exchanged, "was changed"), "removed": (_removed, "cannot be read")},
        error=TranscriptError,
    ),
]
