"""Images, and how they are asked for."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from pcevolve.public import settings
from pcevolve.public.modalities.making import Said

UNASKED = "the API's own: it is not asked for any"


class Images(BaseModel):
    """How images are asked for; see ``Making`` for what else is known of them.

    Attributes:
        kind: Says that it is images.
        negative_prompt: What they should not show; empty for nothing.
        guidance: Scale; None where the API is not asked for any.
        steps: Of denoising; None where the API is not asked for any.
        adapter: IP-Adapter by which prototypes also speak as image prompts; None without one.
        adapter_scale: Its weight; None without one.
        width: Pixels.
        height: Pixels.
        sized: Whether the API is asked for that size; else it is the model's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    verb: ClassVar[str] = "draw"
    in_question: ClassVar[bool] = False
    refuses_looks: ClassVar[str] = ""
    more_of_it: ClassVar[str] = ""
    other_provider: ClassVar[str] = (
        "this provider does not draw what was released about your classes: another model, or a library of public "
        "images of your domain, may; epsilon is not what is missing"
    )

    kind: Literal["image"] = "image"
    negative_prompt: settings.NegativePrompt = ""
    guidance: settings.Guidance | None = 7.5
    steps: settings.Steps | None = 50
    adapter: settings.Adapter | None = None
    adapter_scale: settings.AdapterScale | None = None
    width: settings.Pixels
    height: settings.Pixels
    sized: bool = True

    @model_validator(mode="after")
    def _adapter_is_weighed(self) -> Self:
        if (self.adapter is None) != (self.adapter_scale is None):
            raise ValueError("adapter: an adapter and the weight of its image prompt go together")
        return self

    @property
    def asked_size(self) -> str:
        """See ``Making.asked_size``."""
        return f"{self.width} x {self.height}" if self.sized else ""

    @property
    def has_adapter(self) -> bool:
        """See ``Making.has_adapter``."""
        return self.adapter is not None

    @property
    def beside_prompts(self) -> Said:
        """The negative prompt."""
        return [("Negative prompt", self.negative_prompt or "none")]

    @property
    def said(self) -> Said:
        """Size, steps and guidance, as far as the API is asked for them."""
        own = "" if self.sized else ", the model's own"
        return [
            ("Size", f"{self.width} × {self.height} pixels{own}"),
            ("Steps", UNASKED if self.steps is None else self.steps),
            ("Guidance scale", UNASKED if self.guidance is None else self.guidance),
        ]

    @property
    def in_summary(self) -> dict[str, str]:
        """Nothing: images are the usual."""
        return {}

    def asked_with(self, degrees: str, advice: str) -> str:
        """Steps, guidance, strengths and adapter, as far as they are sent, and what the provider recommends."""
        sent = [
            "" if self.steps is None else f"{self.steps} steps",
            "" if self.guidance is None else f"guidance {self.guidance:g}",
            f"strength {degrees}" if degrees else "",
            f"IP-Adapter {self.adapter} at scale {self.adapter_scale:g}" if self.adapter else "",
        ]
        unsent = [] if self.steps is not None else ["steps"]
        unsent += [] if self.guidance is not None else ["guidance"]
        left = f"{' and '.join(unsent)} are left to the API" if unsent else ""
        asked = ", ".join(filter(None, sent))
        return f"{'; '.join(filter(None, [asked, left]))} (the API recommends {advice or 'nothing'})"

    def degree(self, of: float) -> str:
        """The strength of image-to-image."""
        return f"strength {of:g}"

    @classmethod
    def spoken(cls, words: str) -> str:
        """The words as they are: they are about images."""
        return words
