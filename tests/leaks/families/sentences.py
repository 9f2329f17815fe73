"""Private sentences in the place of a text that the provider wrote: whole, in pieces, and as single bits."""

from __future__ import annotations

from leaks import secrets
from leaks.attempts import Attempt
from leaks.families.disk import overwritten
from leaks.families.images import Forge, in_candidate, in_prototype
from leaks.world import ECHOES, VARIES
from pcevolve.errors import TranscriptError

SENTENCE = f"{secrets.PERSON} of {secrets.UNIT} has had a fever for three days".encode()


ALIKE = str.maketrans("aeio", "\u0430\u0435\u0456\u043e")
"""Latin letters as Cyrillic ones."""


def _letters(received: bytes) -> bytes:
    """Which letters are large says the sentence, bit by bit."""
    bits = f"{int.from_bytes(SENTENCE, 'big'):b}"
    text = received.decode()
    return "".join(
        each.upper() if bit == "1" else each for each, bit in zip(text, bits[: len(text)], strict=True)
    ).encode()


FORGED: dict[str, Forge] = {
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

ATTEMPTS: list[Attempt] = [
    attempt
    for name, forge in FORGED.items()
    for attempt in (
        *(
            Attempt(
                "private sentences in a candidate",
                name,
                moment,
                in_candidate(forge),
                "is not what the API sent|names another candidate",
                spoken="chat",
            )
            for moment in (*VARIES, *ECHOES)
        ),
        *(
            Attempt(
                "private sentences in a prototype",
                name,
                moment,
                in_prototype(forge),
                "no receipt for its class and iteration",
                spoken="chat",
            )
            for moment in ("vary-1", "vary-2")
        ),
        *(
            Attempt(
                "files of texts",
                f"overwritten: {name}",
                moment,
                overwritten(forge),
                "was changed",
                TranscriptError,
                spoken="chat",
            )
            for moment in ("vary-1", "look-1")
        ),
    )
]
