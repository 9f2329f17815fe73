"""Who judges texts: hashed words and pairs of words, which never voted, and encoders of texts."""

from __future__ import annotations

from pcevolve.encoders import WORDS
from pcevolve.evaluation.heads import train_linear
from pcevolve.evaluation.judge import Judge
from pcevolve.evaluation.ngrams import hashed_ngrams
from pcevolve.evaluation.protocol import train_papers_head

STRANGER = "ngrams"
"""What hashed words and pairs of words are called; they never voted."""


def encoders() -> list[str]:
    """Encoders that are at hand, better first."""
    return [WORDS]


def usual() -> list[str]:
    """Judges of a dataset where nobody names any."""
    return [STRANGER, WORDS]


def stranger() -> Judge:
    """The hashed words, with the head of the PCEvolve paper."""
    return Judge(STRANGER, voted=False, look=hashed_ngrams, train=train_papers_head)


def quick_stranger() -> Judge:
    """The hashed words, with a head of 400 steps whatever the dataset's size."""
    return Judge(STRANGER, voted=False, look=hashed_ngrams, train=train_linear)
