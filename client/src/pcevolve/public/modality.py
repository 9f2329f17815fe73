"""Kinds of data that a run makes, images or texts, and how each is asked for; every public plan has one of the two.

``Images`` says what is known of both, ``Texts`` only where it differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from pcevolve.public import requests

Kind: TypeAlias = Literal["image", "text"]
Described: TypeAlias = list[tuple[str, object]]
"""Settings in words, each under its title."""


def join(things: list[str]) -> str:
    """Join some things as a sentence does: one, two and three."""
    return " and ".join(filter(None, [", ".join(things[:-1]), *things[-1:]]))


UNASKED = "the API's own: it is not asked for any"
OWN_DEGREE = "to the API's own degree"
"""Of variations, where the API is asked for no strength."""


class Images(requests.ImageSettings):
    """Settings by which images are asked for, and what is known of whatever is made.

    Attributes:
        sends_inline: Whether what is varied goes back inside the prompt, and not as a file beside it.
        refuses_looks: Why one cannot be given an appearance; empty where it can.
        retry_hint: What else may help where a provider sends nothing usable; empty for nothing.
        other_provider: What to do where a provider does not make what was released, without its full stop.
        sized: Whether the API is asked for that size; else it is the model's own.
        graded: Whether the API is asked for a strength of its variations; else their degree is the API's own.
    """

    verb: ClassVar[str] = "draw"
    sends_inline: ClassVar[bool] = False
    refuses_looks: ClassVar[str] = ""
    retry_hint: ClassVar[str] = ""
    other_provider: ClassVar[str] = (
        "this provider does not draw what was released about your classes: another model, or a library of public "
        "images of your domain, may; epsilon is not what is missing"
    )

    kind: Literal["image"] = "image"
    width: requests.Pixels
    height: requests.Pixels
    sized: bool = True
    graded: bool = True

    @model_validator(mode="after")
    def _adapter_is_weighed(self) -> Self:
        if (self.adapter is None) != (self.adapter_scale is None):
            raise ValueError("adapter: an adapter and the weight of its image prompt go together")
        return self

    @property
    def asked_size(self) -> str:
        """The size that is asked for, ``64 x 64``; empty where no size is asked for."""
        return f"{self.width} x {self.height}" if self.sized else ""

    @property
    def has_adapter(self) -> bool:
        """True if variations take a prototype as an image prompt, too."""
        return self.adapter is not None

    @property
    def extra_prompts(self) -> Described:
        """Text that goes with every prompt: the negative one."""
        return [("Negative prompt", self.negative_prompt or "none")]

    def describe(self) -> Described:
        """The settings of a request, in words, as far as the API is asked for them."""
        own = "" if self.sized else ", the model's own"
        return [
            ("Size", f"{self.width} × {self.height} pixels{own}"),
            ("Steps", UNASKED if self.steps is None else self.steps),
            ("Guidance scale", UNASKED if self.guidance is None else self.guidance),
            *([("Sampler", self.sampler)] if self.sampler else []),
            *([] if self.graded else [("Strength of variations", UNASKED)]),
        ]

    @property
    def in_summary(self) -> dict[str, str]:
        """Entries of a run's summary that are particular to its kind; images are the usual."""
        return {}

    def describe_asking(self, degrees: str, advice: str) -> str:
        """Describe in a line for the owner how each one is asked for.

        Args:
            degrees: Of variation, first and last; empty without any.
            advice: What the API recommends, if anything.
        """
        sent = [
            "" if self.steps is None else f"{self.steps} steps",
            "" if self.guidance is None else f"guidance {self.guidance:g}",
            f"strength {degrees}" if degrees else "",
            f"IP-Adapter {self.adapter} at scale {self.adapter_scale:g}" if self.adapter else "",
        ]
        unsent = [] if self.steps is not None else ["steps"]
        unsent += [] if self.guidance is not None else ["guidance"]
        unsent += [] if self.graded else ["degrees of variation"]
        left = f"{join(unsent)} are left to the API" if unsent else ""
        asked = ", ".join(filter(None, sent))
        return f"{'; '.join(filter(None, [asked, left]))} (the API recommends {advice or 'nothing'})"

    def describe_degree(self, of: float) -> str:
        """Say in words how different a variation is, from 0 to 1: the strength of image-to-image."""
        return f"strength {of:g}"

    @classmethod
    def reword(cls, words: str) -> str:
        """Reword what our own texts say of images for this kind; here the words are as they should be."""
        return words


class Texts(requests.TextSettings):
    """Settings by which texts are asked for; see ``Images`` for the rest.

    Attributes:
        fields: How the API takes the fields of a request: ``NAME=OTHER`` each for one that it calls otherwise,
            ``NAME=`` for one that it takes not at all.
    """

    verb: ClassVar[str] = "write"
    sends_inline: ClassVar[bool] = True
    refuses_looks: ClassVar[str] = "appearance: texts have none, so they are taken as-is"
    retry_hint: ClassVar[str] = "more provider.tokens for a model that thinks before it writes"
    other_provider: ClassVar[str] = (
        "this provider does not write what was released about your classes: another language model, or class names "
        "and a domain that say what the texts are about, may; epsilon is not what is missing"
    )

    kind: Literal["text"]
    tokens: requests.Tokens
    fields: requests.ChatFields = ()

    @model_validator(mode="after")
    def _temperature_is_sent(self) -> Self:
        if (self.temperature is None) != ("temperature=" in self.fields):
            raise ValueError(
                "temperature: it is said of a request whose fields leave it out, or the other way round"
            )
        return self

    def spelled(self, fields: Mapping[str, object]) -> dict[str, object]:
        """The fields of a request by the names that the API has for them, without those that it does not take."""
        names = dict(each.split("=", 1) for each in self.fields)
        return {names.get(name, name): value for name, value in fields.items() if names.get(name, name)}

    @property
    def asked_size(self) -> str:
        """Empty: texts have none."""
        return ""

    @property
    def has_adapter(self) -> bool:
        """False: no text is an image prompt."""
        return False

    @property
    def graded(self) -> bool:
        """True: the question itself says which words are blanks."""
        return True

    @property
    def extra_prompts(self) -> Described:
        """Nothing."""
        return []

    def describe(self) -> Described:
        """Length and temperature, and what the request calls otherwise or leaves out."""
        settings: Described = [
            ("Tokens of a text, at most", self.tokens),
            ("Temperature", UNASKED if self.temperature is None else self.temperature),
        ]
        return settings + [("Fields of a request", ", ".join(self.fields))] * bool(self.fields)

    @property
    def in_summary(self) -> dict[str, str]:
        """That it is texts."""
        return {"modality": self.kind}

    def describe_asking(self, degrees: str, advice: str) -> str:
        """Length, temperature and blanks; no API recommends any."""
        blanks = f", blanks {degrees}" if degrees else ""
        temperature = (
            "the API's own temperature" if self.temperature is None else f"temperature {self.temperature:g}"
        )
        return f"at most {self.tokens} tokens, {temperature}{blanks}"

    def describe_degree(self, of: float) -> str:
        """The share of words that were blanks."""
        return f"{of:.0%} of the words anew"

    @classmethod
    def reword(cls, words: str) -> str:
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


Modality: TypeAlias = Annotated[Images | Texts, Field(discriminator="kind")]
MODALITIES: Final[Mapping[Kind, type[Images] | type[Texts]]] = {"image": Images, "text": Texts}
"""The class of each kind, which says what is known before there is a plan."""


def images_of(made: Images | Texts) -> Images:
    """Return the settings of a run that makes images; ``TypeError`` for one that makes texts."""
    if not isinstance(made, Images):
        raise TypeError("a plan for texts has no settings of images")
    return made


def texts_of(made: Images | Texts) -> Texts:
    """Return the settings of a run that makes texts; ``TypeError`` for one that makes images."""
    if not isinstance(made, Texts):
        raise TypeError("a plan for images has no settings of texts")
    return made


def reword_for(words: str, kind: Kind) -> str:
    """Reword for a kind what is said of images in words of our own; anybody else's would be changed as well."""
    return MODALITIES[kind].reword(words)
