"""Images, and how they are asked for."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from pcevolve.public import settings
from pcevolve.public.modalities.making import Said


class Images(BaseModel):
    """How images are asked for; see ``Making`` for what else is known of them.

    Attributes:
        kind: Says that it is images.
        negative_prompt: What they should not show; empty for nothing.
        guidance: Scale.
        steps: Of denoising.
        adapter: IP-Adapter by which prototypes also speak as image prompts; None without one.
        adapter_scale: Its weight; None without one.
        width: Pixels.
        height: Pixels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    verb: ClassVar[str] = "draw"
    in_question: ClassVar[bool] = False
    refuses_held: ClassVar[str] = ""
    refuses_looks: ClassVar[str] = ""
    other_provider: ClassVar[str] = (
        "this provider does not draw what was released about your classes: another model, or a library of public "
        "images of your domain, may; epsilon is not what is missing"
    )

    kind: Literal["image"] = "image"
    negative_prompt: settings.NegativePrompt = ""
    guidance: settings.Guidance = 7.5
    steps: settings.Steps = 50
    adapter: settings.Adapter | None = None
    adapter_scale: settings.AdapterScale | None = None
    width: settings.Pixels
    height: settings.Pixels

    @model_validator(mode="after")
    def _adapter_is_weighed(self) -> Self:
        if (self.adapter is None) != (self.adapter_scale is None):
            raise ValueError("adapter: an adapter and the weight of its image prompt go together")
        return self

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
        """Size, steps and guidance."""
        return [
            ("Size", f"{self.width} × {self.height} pixels"),
            ("Steps", self.steps),
            ("Guidance scale", self.guidance),
        ]

    @property
    def in_summary(self) -> dict[str, str]:
        """Nothing, as before there were texts."""
        return {}

    def asked_with(self, degrees: str, advice: str) -> str:
        """Steps, guidance, strengths and adapter, and what the provider recommends."""
        strengths = f", strength {degrees}" if degrees else ""
        told = f"the API recommends {advice or 'nothing'}"
        adapter = f", IP-Adapter {self.adapter} at scale {self.adapter_scale:g}" if self.adapter else ""
        return f"{self.steps} steps, guidance {self.guidance:g}{strengths}{adapter} ({told})"

    def degree(self, of: float) -> str:
        """The strength of image-to-image."""
        return f"strength {of:g}"

    @classmethod
    def spoken(cls, words: str) -> str:
        """The words as they are: they are about images."""
        return words
