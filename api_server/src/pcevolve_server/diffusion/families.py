"""The families of models that diffusers draws with: all that the server knows of one and its class does not say.

A new family is a line of :data:`FAMILIES`. Sources: the model cards of Stable Diffusion 1.5 and SDXL, of SDXL-Turbo and
SD-Turbo, of Stable Diffusion 3, of the Flux.1 models, of Qwen-Image and Qwen-Image-Edit, of Z-Image, and of the latent
consistency models; for the bundled model its own card.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pcevolve_shared.wire import Recommended

# Distilled, with the guidance of its teacher in it.
BUNDLED: Final = Recommended(steps=4, guidance=1.0, strength_low=0.3, strength_high=0.9)
DIFFUSION: Final = Recommended(steps=25, guidance=7.5, strength_low=0.2, strength_high=0.95)
XL: Final = Recommended(steps=30, guidance=5.0, strength_low=0.2, strength_high=0.95)
# Adversarially distilled without guidance: one step draws an image, so a variation needs at least one of its steps.
TURBO: Final = Recommended(steps=4, guidance=0.0, strength_low=0.25, strength_high=0.95)
# Distilled with the guidance as an input, which stands for what guidance did in the original.
CONSISTENCY: Final = Recommended(steps=4, guidance=8.0, strength_low=0.25, strength_high=0.95)
# The same as a low-rank addition to an ordinary model: real guidance, and little of it.
CONSISTENCY_LORA: Final = Recommended(steps=4, guidance=1.5, strength_low=0.25, strength_high=0.95)
# Stable Diffusion 3.5, which is told from 3 by its normalised queries and keys, and the smaller one by its twofold
# attention.
FLOW_LARGE: Final = Recommended(steps=28, guidance=3.5, strength_low=0.36, strength_high=0.92)
FLOW_MEDIUM: Final = Recommended(steps=40, guidance=4.5, strength_low=0.36, strength_high=0.92)
# Flow matching counts strength in shares of noise: these have the signal-to-noise ratio of 0.2 and 0.95 in diffusion.
FLOW: Final = Recommended(steps=28, guidance=7.0, strength_low=0.36, strength_high=0.92)
GUIDED_FLOW: Final = Recommended(steps=28, guidance=3.5, strength_low=0.36, strength_high=0.92)
QWEN: Final = Recommended(steps=50, guidance=4.0, strength_low=0.36, strength_high=0.92)
QWEN_PLUS: Final = Recommended(steps=40, guidance=4.0, strength_low=0.36, strength_high=0.92)
# Kontext, whose strengths nobody can ask for.
EDITED_FLOW: Final = Recommended(steps=28, guidance=2.5, strength_low=0.36, strength_high=0.92)
SHORT_FLOW: Final = Recommended(steps=4, guidance=0.0, strength_low=0.36, strength_high=0.92)

# Distilled for fewer steps with the guidance as an input, as before.
HELD_FLOW: Final = Recommended(steps=8, guidance=3.5, strength_low=0.36, strength_high=0.92)
Z_TURBO: Final = Recommended(steps=8, guidance=0.0, strength_low=0.36, strength_high=0.92)

_ONE: Final = ("prompt_embeds", "")
_SEVERAL: Final = ("prompt_embeds", "", "pooled_prompt_embeds", "")
_FLUX: Final = ("prompt_embeds", "pooled_prompt_embeds", "")


@dataclass(frozen=True)
class Family:
    """Of pipelines.

    Attributes:
        kind: How the names of its classes begin.
        recommended: Its settings, where nothing else tells of better ones; None: by what its networks say.
        few_steps: Those of its members that were distilled for few steps; None: as of others.
        encoders: Text encoders that a textual inversion has vectors for.
        embeds: What ``encode_prompt`` returns, by the names of a call's arguments; what is none of them, empty. None
            for families whose pipelines encode prompts themselves.
        guidance: The argument of a call that sets guidance, which is an input of distilled models elsewhere.
        draws: Of one that edits, the class that draws without an image on the same weights; empty for any other.
        alone: Whether variations run one at a time: it takes several images for views of what one prompt is about.
        own_scheduler: Whether it reads what only its own kind of scheduler returns.
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
"""The first whose kind a class's name begins with is its family."""
UNKNOWN: Final = Family("")
"""What is supposed of any other class: that it is called as most are."""
SERVED_EDITS: Final = "FLUX.1 Kontext, InstructPix2Pix and Qwen-Image-Edit"

UNFIT: Final = {
    "Inpaint": "it is an inpainting model, which fills holes in images; serve the model that it was made from",
    "Fill": "it is an inpainting model, which fills holes in images; serve the model that it was made from",
    "Upscale": "it makes images larger, and none of its own",
    "Control": "it wants a picture of edges, poses or depths with each prompt; serve the model that it controls",
    "Onnx": "its networks are for ONNX Runtime; serve the version of it that is for PyTorch",
    "Flax": "its networks are for JAX; serve the version of it that is for PyTorch",
}
"""By parts of the names of diffusers' classes, why none of them is served."""


def family_of(kind: str) -> Family:
    """Return the family of a class of pipelines, by its name."""
    # Flux2 is another family than Flux.
    rests = ((each, kind.removeprefix(each.kind)) for each in FAMILIES if kind.startswith(each.kind))
    return next((each for each, rest in rests if not rest[:1].isdigit()), UNKNOWN)
