"""From public words to prompts: a template's only one, and several for a class by a small grammar.

The grammar does what a language model does for the baseline LE of the PCEvolve paper (section 5.1), without one: the
same class said in other words, from other sides and in other light, so that a generator draws more than one kind of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import islice, product
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from pcevolve.public import settings
from pcevolve.public.modality import Texts

PROMPT: Final = "{prompt}"
QUESTION: Final = (
    "Write one prompt for a text-to-image model: the subject of the prompt below in other words, with another view, "
    "light, background or detail. One line of at most 60 words, plain words without brackets or colons, nothing else."
    "\n\n{prompt}"
)
"""The usual question to a rewriter."""

USUAL = 10
"""Prompts of a class where nobody says how many."""

_SENTENCES = (
    "A {domain} image with {label}",
    "{label}, {domain}",
    "A typical {domain} picture that shows {label}",
    "{domain} with {label} in the centre",
    "A photograph of {domain}, class {label}",
    "An example of {label} in a {domain} data set",
    "A close-up of {label}, {domain}",
    "A {domain} image of another kind of {label}",
)
_WAYS = (
    "",
    ", sharp and evenly lit",
    ", seen from a little further away",
    ", in soft light",
    ", with strong contrast",
    ", slightly rotated",
    ", on a plain background",
    ", faint and small",
)
_CONTEXTS = (
    "",
    ", by daylight from a window",
    ", under a lamp from the left",
    ", under a lamp from the right",
    ", taken with a hand-held camera",
    ", taken with a fixed camera from above",
    ", with a shallow depth of field",
    ", with everything in focus",
    ", slightly overexposed",
    ", slightly underexposed",
    ", in cool colours",
    ", in warm colours",
    ", in muted colours",
    ", with a little motion blur",
    ", with visible grain",
    ", as part of a long series",
)
MOST = len(_SENTENCES) * len(_WAYS) * len(_CONTEXTS)
"""Prompts of a class that the grammar has."""


def filled(template: str, domain: str, label: str) -> str:
    """A template with its ``{domain}`` and ``{label}`` replaced; words that look like them stay as they are."""
    words = {"domain": domain, "label": label}
    return re.sub(r"\{(domain|label)\}", lambda match: words[match[1]], template)


def in_one_line(said: str) -> str:
    """Return somebody's words in one line, with one space for whatever cannot be seen."""
    return " ".join("".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in said).split())


def shown(prompts: Sequence[str]) -> str:
    """The prompts of a class in a line: the first, and how many others there are."""
    others = len(prompts) - 1
    return prompts[0] + (f" (and {others} other prompt{'s' if others > 1 else ''})" if others else "")


def usual_prompts(domain: str, label: str, count: int = USUAL) -> tuple[str, ...]:
    """Different prompts for a class; the first is the usual one, and neighbours differ in sentence and in way.

    Context comes once sentences and ways are used up.

    Args:
        domain: Public words for what the images show.
        label: The class.
        count: How many, at most ``MOST``.

    Raises:
        ValueError: The grammar has fewer.
    """
    if not 1 <= count <= MOST:
        raise ValueError(f"there are 1 to {MOST} prompts for a class, not {count}")
    places = product(range(len(_CONTEXTS)), range(len(_WAYS)), range(len(_SENTENCES)))
    return tuple(filled(_word(*place), domain, label) for place in islice(places, count))


def _word(context: int, turn: int, sentence: int) -> str:
    """One prompt of the grammar, without words for what it shows; another one for every three numbers."""
    others = len(_CONTEXTS) - 1
    behind = _CONTEXTS[1 + (context - 1 + sentence + turn) % others] if context else ""
    return _SENTENCES[sentence] + _WAYS[(sentence + turn) % len(_WAYS)] + behind


class Rewriter(BaseModel):
    """The language model that says released prompts in other words: a second provider, by the public facts of it.

    Attributes:
        api: Address of its chat API.
        model: As the API calls it.
        question: Text with one ``{prompt}``, in whose place the prompt stands.
        texts: Length and temperature of its answers, and how its API takes the fields of a request.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    api: Annotated[str, Field(pattern=r"^https?://[^@\s]+$", max_length=500)]
    model: settings.Model
    question: settings.RewriterQuestion = QUESTION
    texts: Texts

    def asked(self, prompt: str) -> str:
        """The question that is asked about a prompt, whose own braces stay as they are."""
        before, _, behind = self.question.partition(PROMPT)
        return before + prompt + behind
