"""Texts, and how they are asked for."""

from __future__ import annotations

import re
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict

from pcevolve.public import settings
from pcevolve.public.modalities.making import Said


class Texts(BaseModel):
    """How texts are asked for; see ``Making`` for what else is known of them.

    Attributes:
        kind: Says that it is texts.
        tokens: Most of one text.
        temperature: Of the language model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    verb: ClassVar[str] = "write"
    in_question: ClassVar[bool] = True
    refuses_looks: ClassVar[str] = "appearance: texts have none, so they are taken as-is"
    more_of_it: ClassVar[str] = "more --tokens for a model that thinks before it writes"
    other_provider: ClassVar[str] = (
        "this provider does not write what was released about your classes: another language model, or class names "
        "and a domain that say what the texts are about, may; epsilon is not what is missing"
    )

    kind: Literal["text"]
    tokens: settings.Tokens
    temperature: settings.Temperature

    @property
    def asked_size(self) -> str:
        """Empty: texts have none."""
        return ""

    @property
    def has_adapter(self) -> bool:
        """False: no text is an image prompt."""
        return False

    @property
    def beside_prompts(self) -> Said:
        """Nothing."""
        return []

    @property
    def said(self) -> Said:
        """Length and temperature."""
        return [("Tokens of a text, at most", self.tokens), ("Temperature", self.temperature)]

    @property
    def in_summary(self) -> dict[str, str]:
        """That it is texts."""
        return {"modality": self.kind}

    def asked_with(self, degrees: str, advice: str) -> str:
        """Length, temperature and blanks; no API recommends any."""
        blanks = f", blanks {degrees}" if degrees else ""
        return f"at most {self.tokens} tokens, temperature {self.temperature:g}{blanks}"

    def degree(self, of: float) -> str:
        """The share of words that were blanks."""
        return f"{of:.0%} of the words anew"

    @classmethod
    def spoken(cls, words: str) -> str:
        """The words with each image a text."""
        return _OF_IMAGES.sub(_of_texts, words)


_OF_TEXTS: Final = {
    "text-to-image": "new texts",
    "image-to-image": "variations",
    "an image": "a text",
    "image": "text",
    "picture": "text",
}
_OF_IMAGES: Final = re.compile(r"\b(text-to-image|image-to-image|(?i:an image|image|picture)(?=s?\b))")


def _of_texts(match: re.Match[str]) -> str:
    found = _OF_TEXTS[match[0].lower()]
    return found.capitalize() if match[0][0].isupper() else found
