"""From what a rewriter answers to a prompt: a public rule, by which anything odd counts as no answer."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from pcevolve.modality.texts.reading import is_refusal

LONGEST: Final = 500
"""Characters of a reworded prompt."""
_MOST_READ: Final = 2**14
"""Characters of an answer; what is longer is no prompt."""
_MARKS: Final = frozenset(" ,.;!?'’\"“”-–—/%&+°")
_WORDS: Final = ("L", "M", "N")
"""Unicode's categories of letters, their marks, and numbers."""
_SYNTAX: Final = re.compile(r"\b(?:AND|BREAK)\b|--")
"""Plain words and marks that some image API reads as syntax."""


def reworded(said: str, before: str) -> str:
    """Return the prompt that an answer gives in place of another; that one, where it gives none.

    It is the one line of the answer, without quotation marks around it, apart from lines that end in a colon and
    introduce it. It has to be of letters, numbers and the marks of plain sentences, so that no image API finds
    brackets, weights, networks or parameters in it, and not too long; and it must not be a refusal.

    Args:
        said: What the language model says, without what it thought.
        before: The prompt that it was asked to reword.
    """
    if len(said) > _MOST_READ:
        return before
    lines = [each.strip() for each in said.splitlines() if each.strip() and not each.rstrip().endswith(":")]
    if len(lines) != 1:
        return before
    prompt = unicodedata.normalize("NFC", lines[0].strip("\"'“” "))
    return prompt if _is_prompt(prompt) else before


def _is_prompt(prompt: str) -> bool:
    plain = all(each in _MARKS or unicodedata.category(each)[0] in _WORDS for each in prompt)
    says = any(unicodedata.category(each)[0] == "L" for each in prompt)
    return (
        plain
        and says
        and len(prompt) <= LONGEST
        and _SYNTAX.search(prompt) is None
        and not is_refusal(prompt)
    )
