"""The families of models that diffusers draws with, and the facts that their classes do not state.

A new family is a line of :data:`FAMILIES`. Sources: the model cards of Stable Diffusion 1.5 and SDXL, of
SDXL-Turbo and SD-Turbo, of Stable Diffusion 3, of the Flux.1 models, of Qwen-Image and Qwen-Image-Edit, of
Z-Image, and of the latent consistency models; for the bundled model its own card.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pcevolve_shared.wire import Recommended

# Distilled, with its teacher's guidance included.
BUNDLED: Final = Recommended(steps=4, guidance=1.0, strength_low=0.3, strength_high=0.9)
DIFFUSION: Final = Recommended(steps=25, guidance=7.5, strength_low=0.2, strength_high=0.95)
XL: Final = Recommended(steps=30, guidance=5.0, strength_low=0.2, strength_high=0.95)
# Distilled adversarially without guidance: one step draws an image, so a variation needs at least one of its
# steps.
TURBO: Final = Recommended(steps=4, guidance=0.0, strength_low=0.25, strength_high=0.95)
# Distilled with the guidance as an input, which takes the place of classifier-free guidance.
CONSISTENCY: Final = Recommended(steps=4, guidance=8.0, strength_low=0.25, strength_high=0.95)
# The same as a LoRA on an ordinary model: real guidance, and little of it.
CONSISTENCY_LORA: Final = Recommended(steps=4, guidance=1.5, strength_low=0.25, strength_high=0.95)
# Stable Diffusion 3.5 differs from 3 by its normalised queries and keys, and its smaller version by its
# twofold attention.
FLOW_LARGE: Final = Recommended(steps=28, guidance=3.5, strength_low=0.36, strength_high=0.92)
FLOW_MEDIUM: Final = Recommended(steps=40, guidance=4.5, strength_low=0.36, strength_high=0.92)
# Flow matching counts strength in shares of noise: these have the signal-to-noise ratio of 0.2 and 0.95 in
# diffusion.
FLOW: Final = Recommended(steps=28, guidance=7.0, strength_low=0.36, strength_high=0.92)
GUIDED_FLOW: Final = Recommended(steps=28, guidance=3.5, strength_low=0.36, strength_high=0.92)
QWEN: Final = Recommended(steps=50, guidance=4.0, strength_low=0.36, strength_high=0.92)
QWEN_PLUS: Final = Recommended(steps=40, guidance=4.0, strength_low=0.36, strength_high=0.92)
# Kontext, whose strengths cannot be set.
EDITED_FLOW: Final = Recommended(steps=28, guidance=2.5, strength_low=0.36, strength_high=0.92)
SHORT_FLOW: Final = Recommended(steps=4, guidance=0.0, strength_low=0.36, strength_high=0.92)

# Distilled for fewer steps, with the guidance as an input as before.
HELD_FLOW: Final = Recommended(steps=8, guidance=3.5, strength_low=0.36, strength_high=0.92)
Z_TURBO: Final = Recommended(steps=8, guidance=0.0, strength_low=0.36, strength_high=0.92)

_ONE: Final = ("prompt_embeds", "")
_SEVERAL: Final = ("prompt_embeds", "", "pooled_prompt_embeds", "")
_FLUX: Final = ("prompt_embeds", "pooled_prompt_embeds", "")


@dataclass(frozen=True)
class Family:
    """A family of pipelines.

    Attributes:
        kind: Prefix of the names of its classes.
        recommended: Its settings, if nothing else gives better ones; None: decided by its networks.
        few_steps: Settings of its members that were distilled for few steps; None: the same as of other
            families.
        encoders: Number of text encoders that a textual inversion has vectors for.
        embeds: Names of a call's arguments for the results of ``encode_prompt``, in order; empty for a result
            that is not passed on. None for families whose pipelines encode prompts themselves.
        guidance: The call's argument for the guidance; in other families that argument is an input of
            distilled models.
        draws: For a family that edits, the class that draws without an image on the same weights; empty for
            others.
        alone: Whether variations run one at a time: several images would be taken as views of one prompt's
            subject.
        own_scheduler: Whether it needs results that only its own kind of scheduler returns.
    """

    kind: str
    recommended: Recommended | None = None
    few_steps: Recommended | None = None
    encoders: int = 1
    embeds: tuple[str, ...] | None = None
    guidance: str = "guidance_scale"
    draws: str = ""
    alone: bool = False
    own_scheduler: bool = False


FAMILIES: Final = (
    Family("StableDiffusionInstructPix2Pix", draws="StableDiffusionInstructPix2PixPipeline"),
    Family("StableDiffusionXL", XL, encoders=2, embeds=_SEVERAL),
    Family("StableDiffusion3", embeds=_SEVERAL),
    Family("StableDiffusion", embeds=_ONE),
    Family("LatentConsistency", embeds=_ONE, own_scheduler=True),
    Family("FluxKontext", EDITED_FLOW, embeds=_FLUX, draws="FluxKontextPipeline"),
    Family("Flux", embeds=_FLUX),
    Family("QwenImageEditPlus", QWEN_PLUS, guidance="true_cfg_scale", draws="QwenImagePipeline", alone=True),
    Family("QwenImageEdit", QWEN, guidance="true_cfg_scale", draws="QwenImagePipeline", alone=True),
    Family("QwenImage", QWEN, guidance="true_cfg_scale"),
    Family("ZImage", few_steps=Z_TURBO),
)
"""A class belongs to the first family whose kind is a prefix of its name."""
UNKNOWN: Final = Family("")
"""The default for any other class."""
SERVED_EDITS: Final = "FLUX.1 Kontext, InstructPix2Pix and Qwen-Image-Edit"

UNFIT: Final = {
    "Inpaint": "it is an inpainting model, which fills holes in images; serve the model that it was made from",
    "Fill": "it is an inpainting model, which fills holes in images; serve the model that it was made from",
    "Upscale": "it makes images larger, and none of its own",
    "Control": "it wants a picture of edges, poses or depths with each prompt; serve the model that it controls",
    "Onnx": "its networks are for ONNX Runtime; serve the version of it that is for PyTorch",
    "Flax": "its networks are for JAX; serve the version of it that is for PyTorch",
}
"""Reasons why classes of diffusers are not served, by a part of their names."""


def family_of(kind: str) -> Family:
    """Return the family of a pipeline class, by the class's name."""
    # Flux2 is another family than Flux.
    rests = ((each, kind.removeprefix(each.kind)) for each in FAMILIES if kind.startswith(each.kind))
    return next((each for each, rest in rests if not rest[:1].isdigit()), UNKNOWN)
