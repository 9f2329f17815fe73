"""Choose the words of a text that are sent back as blanks: a public, exact function of text, degree and seed."""

from __future__ import annotations

import hashlib
from fractions import Fraction

from pcevolve.modality.texts.reading import Text
from pcevolve_shared.blanks import BLANK


def blank_out(text: Text, degree: float, seed: int) -> str:
    """A text with blanks in place of some of its words.

    Args:
        text: In its normal form.
        degree: Which share of the words, in [0, 1]; at least one where it is above 0.
        seed: Public; says which.

    Returns:
        One line with as many words as the text has.
    """
    found = text.split(" ")
    count = min(len(found), max(int(degree > 0), round(Fraction(degree) * len(found))))
    order = sorted(range(len(found)), key=lambda place: _turn(seed, place))
    gone = set(order[:count])
    return " ".join(BLANK if place in gone else word for place, word in enumerate(found))


def _turn(seed: int, place: int) -> bytes:
    return hashlib.sha256(f"blank/{seed}/{place}".encode()).digest()
