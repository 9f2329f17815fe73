"""From bytes to a text, and to the released form of one. A text is a string in one normal form: see ``plain``."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, TypeAlias

Text: TypeAlias = str
"""A text in its normal form. Outside ``modality`` and ``encoders`` it is opaque: carried, never looked into."""

MOST_BYTES: Final = 2**17
"""Of one text, as it comes: 128 KiB, some twenty thousand words."""
_BLANKS: Final = re.compile(r"\s+")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Unicode's categories of what does not show: controls of terminals and of direction, halves of pairs, nothing."""
_JOINERS: Final = frozenset("\u200c\u200d")
"""Which some scripts need to spell their words."""

_APOLOGY: Final = (
    r"(?:i['’ ]?a?m (?:very |so |really )?sorry|sorry|(?:i|we) apologi[sz]e|my apologies|unfortunately)\b"
)
_UNABLE: Final = (
    r"(?:i|we)(?:['’]m|['’]re| am| are)? ?(?:can(?:no| no|['’]?)t|could(?:n['’]?| no)t|wo(?:n['’]?)t|will not"
    r"|unable to|not (?:able|allowed|permitted) to|must decline to)"
)
_TASK: Final = (
    r"(?:help (?:with|you)|assist|comply|fulfil|provide|create|generate|write|produce|engage|discuss|answer"
    r"|continue|do (?:that|this))"
)
_REFUSAL: Final = re.compile(
    rf"\W*(?:{_APOLOGY}.{{0,80}}?\b{_UNABLE} {_TASK}|{_UNABLE} {_TASK}|as an? (?:ai|(?:large )?language model)\b)",
    re.IGNORECASE,
)
"""How a language model begins that does not write what it was asked for, in English."""


def plain(text: str) -> Text:
    """A text as it is embedded, fingerprinted and released: NFC, one line, nothing that does not show."""
    shown = (
        each
        for each in _BLANKS.sub(" ", text)
        if each in _JOINERS or unicodedata.category(each) not in _UNSEEN
    )
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", "".join(shown))).strip()


def read(data: bytes) -> Text | None:
    """A text that a provider sent; None for what is none: too long, not UTF-8, or nothing that shows."""
    if len(data) > MOST_BYTES:
        return None
    try:
        return plain(data.decode("utf-8")) or None
    except UnicodeDecodeError:
        return None


def is_refusal(text: Text) -> bool:
    """Whether a language model says in a text that it does not write what it was asked for."""
    return _REFUSAL.match(text) is not None
