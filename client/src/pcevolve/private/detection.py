"""What looks like somebody's number, date or address in a text, by regular expressions.

Names, diagnoses and whatever else has no form of its own are not found; whoever needs them found lists them, from any
detector. Found or not, every text keeps its (ε, δ) guarantee.
"""

from __future__ import annotations

import re
from typing import Final

from pcevolve.modality.texts.reading import Text

_MONTH: Final = r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zäé]{0,7}\.?"
_FORMS: Final = (
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    r"https?://[^\s<>\"']+|www\.[^\s<>\"']+",
    r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
    r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,4})?\b",
    r"\b\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b",
    rf"\b\d{{1,2}}\.? {_MONTH} \d{{4}}\b|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b",
    r"(?<!\w)\+?\d(?:[ ()./-]{0,2}\d){4,}(?!\w)",
    r"\b(?=[a-z0-9-]*\d)(?=[a-z0-9-]*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*\d{2}[a-z0-9-]*\b",
)
"""E-mail, web and network addresses; account numbers; dates in figures and words; numbers of five digits and more, as
telephones, patients and postal codes have; and codes of letters and digits, as cases and samples have."""
_ANY: Final = re.compile("|".join(f"(?:{each})" for each in _FORMS))


def found_in(text: Text) -> set[str]:
    """What was found, in small letters."""
    return {found.group().rstrip(".,;:!?)") for found in _ANY.finditer(text.casefold())}
