"""The families of models that diffusers draws with, and facts about them that their classes do not state.

A new family is a line of :data:`FAMILIES`. Sources: the model cards of Stable Diffusion 1.5 and SDXL, of
SDXL-Turbo and SD-Turbo, of Stable Diffusion 3, of the Flux.1 models, of Qwen-Image and Qwen-Image-Edit, of
Z-Image, of the latent consistency models, and of the bundled model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pcevolve_shared.wire import Recommended

# Distilled, including its teacher's guidance.
BUNDLED: Final = Recommended(steps=4, guidance=1.0, strength_low=0.3, strength_high=0.9)
DIFFUSION: Final = Recommended(steps=25, guidance=7.5, strength_low=0.2, strength_high=0.95)
XL: Final = Recommended(steps=30, guidance=5.0, strength_low=0.2, strength_high=0.95)
# Distilled adversarially without guidance. One step draws an image, so a variation needs at least one whole
# step.
TURBO: Final = Recommended(steps=4, guidance=0.0, strength_low=0.25, strength_high=0.95)
# Distilled with the guidance as an input, which replaces classifier-free guidance.
CONSISTENCY: Final = Recommended(steps=4, guidance=8.0, strength_low=0.25, strength_high=0.95)
# The same distillation as a LoRA on an ordinary model, with a little classifier-free guidance.
CONSISTENCY_LORA: Final = Recommended(steps=4, guidance=1.5, strength_low=0.25, strength_high=0.95)
# Stable Diffusion 3.5 differs from version 3 by normalised queries and keys, and its smaller model by dual
# attention.
FLOW_LARGE: Final = Recommended(steps=28, guidance=3.5, strength_low=0.36, strength_high=0.92)
FLOW_MEDIUM: Final = Recommended(steps=40, guidance=4.5, strength_low=0.36, strength_high=0.92)
# Flow matching counts strength in shares of noise. These strengths have the signal-to-noise ratio of 0.2 and 0.95
# in diffusion.
FLOW: Final = Recommended(steps=28, guidance=7.0, strength_low=0.36, strength_high=0.92)
GUIDED_FLOW: Final = Recommended(steps=28, guidance=3.5, strength_low=0.36, strength_high=0.92)
QWEN: Final = Recommended(steps=50, guidance=4.0, strength_low=0.36, strength_high=0.92)
QWEN_PLUS: Final = Recommended(steps=40, guidance=4.0, strength_low=0.36, strength_high=0.92)
# Kontext, whose strength cannot be set.
EDITED_FLOW: Final = Recommended(steps=28, guidance=2.5, strength_low=0.36, strength_high=0.92)
SHORT_FLOW: Final = Recommended(steps=4, guidance=0.0, strength_low=0.36, strength_high=0.92)

# Distilled for fewer steps. The guidance remains an input.
HELD_FLOW: Final = Recommended(steps=8, guidance=3.5, strength_low=0.36, strength_high=0.92)
Z_TURBO: Final = Recommended(steps=8, guidance=0.0, strength_low=0.36, strength_high=0.92)

_ONE: Final = ("prompt_embeds", "")
_SEVERAL: Final = ("prompt_embeds", "", "pooled_prompt_embeds", "")
_FLUX: Final = ("prompt_embeds", "pooled_prompt_embeds", "")


@dataclass(frozen=True)
class Family:
    """A family of pipelines.

    Attributes:
        kind: Prefix of the names of the family's classes.
        recommended: Default settings of the family. None: the networks decide.
        few_steps: Settings of models that were distilled for few steps. None: the settings of other families.
        encoders: Number of text encoders for which a textual inversion has vectors.
        embeds: Names of a call's arguments for the results of ``encode_prompt``, in order. An empty name marks a
            result that is not passed on. None: the pipelines encode prompts themselves.
        guidance: Name of the call's argument for the guidance. In other families, that argument is an input of
            distilled models.
        draws: For a family that edits, the class that draws without an image from the same weights. Otherwise
            empty.
        alone: Whether variations run one at a time. Several images would be taken as views of one subject.
        own_scheduler: Whether the family needs results that only its own kind of scheduler returns.
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
"""A class belongs to the first family whose kind is a prefix of the class's name."""
UNKNOWN: Final = Family("")
"""The default for any other class."""
SERVED_EDITS: Final = "FLUX.1 Kontext, InstructPix2Pix and Qwen-Image-Edit"

UNFIT: Final = {
    "Inpaint": "it is an inpainting model, which fills holes in images: serve its base model instead",
    "Fill": "it is an inpainting model, which fills holes in images: serve its base model instead",
    "Upscale": "it only enlarges images: serve a text-to-image model instead",
    "Control": "it needs a picture of edges, poses or depths with each prompt: serve the model that it controls",
    "Onnx": "its networks are for ONNX Runtime: serve its PyTorch version",
    "Flax": "its networks are for JAX: serve its PyTorch version",
}
"""Reasons why classes of diffusers are not served, by a part of the class's name."""


def family_of(kind: str) -> Family:
    """Return the family of a pipeline class, by the class's name."""
    # Flux2 is not a member of the family Flux.
    rests = ((each, kind.removeprefix(each.kind)) for each in FAMILIES if kind.startswith(each.kind))
    return next((each for each, rest in rests if not rest[:1].isdigit()), UNKNOWN)
