"""The owner's list of secrets, and which private texts hold them. All of it is private."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve.modality.texts.reading import Text, plain

SHORTEST = 3
"""Characters of a secret."""
MOST = 100_000


def read_secrets(path: Path) -> list[str]:
    """Read secrets, one a line, in the normal form of texts and small letters.

    Raises:
        DataError: The file cannot be read, or holds no secrets, too many, or one that is too short; none is repeated.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise DataError(
            f"--secrets {path} cannot be read: give a text file in UTF-8, a secret a line"
        ) from None
    short = [number for number, line in enumerate(lines, 1) if line.strip() and len(plain(line)) < SHORTEST]
    if short:
        raise DataError(f"--secrets {path}: line {short[0]} has fewer than {SHORTEST} characters")
    found = list(dict.fromkeys(plain(line).casefold() for line in lines if line.strip()))
    if not found or len(found) > MOST:
        raise DataError(f"--secrets {path} holds {'no' if not found else f'more than {MOST:,}'} secrets")
    return found


def capped(secrets: Sequence[str], texts: Sequence[Text], most: int, share: float) -> NDArray[np.float64]:
    """What each text may count, in units of a whole vote: ``share`` where it holds a secret, else all of it.

    Args:
        secrets: As ``read_secrets`` gives them.
        texts: All private texts.
        most: Most texts that one secret may stand in; public.
        share: See ``dp.secrecy.secret_share``.

    Returns:
        float64 ``(texts,)``.

    Raises:
        DataError: A secret stands in more texts; it is named by its place in the list alone.
    """
    small = [text.casefold() for text in texts]
    found = np.ones(len(texts))
    for number, secret in enumerate(secrets, 1):
        places = [place for place, text in enumerate(small) if secret in text]
        if len(places) > most:
            raise DataError(
                f"secret {number} of --secrets stands in {len(places)} texts, and --secret-size says {most}: say a "
                "larger number, which is public, or leave texts out"
            )
        found[places] = share
    return found
