"""Images: their settings and traits."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import model_validator

from pcevolve.public import requests
from pcevolve.public.modality.base import UNASKED, Advice, Described, Modality, ModelSize, Nouns, join
from pcevolve.public.words import TEMPLATE

if TYPE_CHECKING:
    from pcevolve.public.config.providers import PublicProvider


class Images(Modality, requests.ImageSettings):
    """Settings of requests for images.

    Attributes:
        sized: True if requests set the size; False if the model's own size applies.
        graded: True if requests set the strength of variations.
    """

    nouns: ClassVar[Nouns] = Nouns("image", "images", "an image")
    medium: ClassVar[str] = "images.medium:IMAGES"
    verb: ClassVar[str] = "draw"
    template: ClassVar[str] = TEMPLATE
    unlabelled_template: ClassVar[str] = "A {domain} image"
    other_provider: ClassVar[str] = (
        "this provider does not draw your classes: try another model, or a library of public images of your "
        "domain; a larger epsilon does not help"
    )
    needs_decoder: ClassVar[bool] = True
    independent_classifier: ClassVar[str] = "cnn"

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

    @classmethod
    def settle(
        cls, asked: PublicProvider, size: ModelSize, advice: Advice | None, taken: AbstractSet[str]
    ) -> dict[str, object]:
        """Return the user's settings, 0 included; otherwise the recommended settings."""
        guidance = advice.guidance if advice else requests.USUAL_GUIDANCE
        settled = {
            "guidance": guidance if asked.guidance is None else asked.guidance,
            "steps": asked.steps or (advice.steps if advice else requests.USUAL_STEPS),
        }
        unweighed = asked.adapter is not None and asked.adapter_scale is None
        return {
            **requests.ImageSettings.take(asked),
            **{name: value if name in taken else None for name, value in settled.items()},
            **({"adapter_scale": requests.USUAL_ADAPTER_SCALE} if unweighed else {}),
            "kind": "image",
            "width": asked.size or size.width,
            "height": asked.size or size.height,
            "sized": "size" in taken,
            "graded": "strength" in taken,
        }

    @property
    def asked_size(self) -> str:
        """The requested size, ``64 x 64``; empty if the model's own size applies."""
        return f"{self.width} x {self.height}" if self.sized else ""

    @property
    def is_graded(self) -> bool:
        """True if requests set a strength."""
        return self.graded

    @property
    def has_adapter(self) -> bool:
        """True if variations also use a prototype as an image prompt."""
        return self.adapter is not None

    @property
    def extra_prompts(self) -> Described:
        """The negative prompt."""
        return [("Negative prompt", self.negative_prompt or "none")]

    @property
    def in_summary(self) -> dict[str, str]:
        """Empty, because a summary that names no kind is about images."""
        return {}

    def describe(self) -> Described:
        """Return size, steps, guidance and sampler."""
        own = "" if self.sized else ", the model's own"
        return [
            ("Size", f"{self.width} × {self.height} pixels{own}"),
            ("Steps", UNASKED if self.steps is None else self.steps),
            ("Guidance scale", UNASKED if self.guidance is None else self.guidance),
            *([("Sampler", self.sampler)] if self.sampler else []),
            *([] if self.graded else [("Strength of variations", UNASKED)]),
        ]

    def describe_asking(self, degrees: str, advice: str) -> str:
        """Describe steps, guidance, strength and adapter, the settings left to the API, and its recommendations."""
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
        """Return the strength of image-to-image."""
        return f"strength {of:g}"

    def list_asked(self) -> Mapping[str, bool]:
        """Return which optional fields a request may carry."""
        return {
            "steps": self.steps is not None,
            "guidance": self.guidance is not None,
            "size": self.sized,
            "strength": self.graded,
            **{name: bool(getattr(self, name)) for name in ("negative_prompt", "sampler", "adapter")},
        }

    def list_unproven(self) -> tuple[str, ...]:
        """Name the size if requests do not set it: they do not show whether the API or the owner stated it."""
        return () if self.sized else ("modality.width", "modality.height")
