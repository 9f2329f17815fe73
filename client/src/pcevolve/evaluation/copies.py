"""How many words in a row a synthetic text has in common with a private one; private."""

from __future__ import annotations

from collections.abc import Sequence

from pcevolve.modality.texts.reading import Text


def longest_copied_span(made: Sequence[Text | None], private: Sequence[Text | None]) -> tuple[int, int]:
    """The longest run of words that stands in one of either set, letters' case aside.

    Args:
        made: Synthetic texts.
        private: Private texts.

    Returns:
        How many words it has, and the place of the first synthetic text that holds one so long; 0, 0 if no word is
        common.
    """
    own = [(each or "").casefold().split() for each in private]
    best, place = 0, 0
    for number, text in enumerate((each or "").casefold().split() for each in made):
        while _has_span(text, own, best + 1):
            best, place = best + 1, number
    return best, place


def _has_span(text: list[str], own: list[list[str]], length: int) -> bool:
    spans = {tuple(text[start : start + length]) for start in range(len(text) - length + 1)}
    return bool(spans) and any(
        tuple(words[start : start + length]) in spans
        for words in own
        for start in range(len(words) - length + 1)
    )
