"""What a model is best asked with, by its family: scheduler, steps, guidance, and how far a variation may go.

Sources: the model cards of Stable Diffusion 1.5 and SDXL, of SDXL-Turbo and SD-Turbo, of Stable Diffusion 3, of the
Flux.1 models, and of the latent consistency models; for the bundled model its own card. Of schedulers: Lu et al. 2022,
"DPM-Solver++: Fast Solver for Guided Sampling of Diffusion Probabilistic Models" (arXiv 2211.01095), by which the
second order takes 20 to 25 steps for what the first order of DDIM and Euler, or PNDM, takes 50. It does so with the
noise levels of Karras et al. 2022 (arXiv 2206.00364), and not without them (``benchmarks/solvers/known.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pcevolve_server.sources import BUNDLED
from pcevolve_shared.wire import Recommended

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline, SchedulerMixin

# Distilled, with the guidance of its teacher in it.
_BUNDLED: Final = Recommended(steps=4, guidance=1.0, strength_low=0.3, strength_high=0.9)
_DIFFUSION: Final = Recommended(steps=25, guidance=7.5, strength_low=0.2, strength_high=0.95)
_XL: Final = Recommended(steps=30, guidance=5.0, strength_low=0.2, strength_high=0.95)
# Adversarially distilled without guidance: one step draws an image, so a variation needs at least one of its steps.
_TURBO: Final = Recommended(steps=4, guidance=0.0, strength_low=0.25, strength_high=0.95)
# Distilled with the guidance as an input, which stands for what guidance did in the original.
_CONSISTENCY: Final = Recommended(steps=4, guidance=8.0, strength_low=0.25, strength_high=0.95)
# The same as a low-rank addition to an ordinary model: real guidance, and little of it.
_CONSISTENCY_LORA: Final = Recommended(steps=4, guidance=1.5, strength_low=0.25, strength_high=0.95)
# Flow matching counts strength in shares of noise: these have the signal-to-noise ratio of 0.2 and 0.95 in diffusion.
_FLOW: Final = Recommended(steps=28, guidance=7.0, strength_low=0.36, strength_high=0.92)
_GUIDED_FLOW: Final = Recommended(steps=28, guidance=3.5, strength_low=0.36, strength_high=0.92)
_SHORT_FLOW: Final = Recommended(steps=4, guidance=0.0, strength_low=0.36, strength_high=0.92)

_SECOND_ORDER: Final = "dpmpp_2m_karras"
_CONSISTENT: Final = "lcm"
_CONSISTENT_SCHEDULERS: Final = {"LCMScheduler", "TCDScheduler"}
# They solve the same equation in more steps; others were chosen for what they do otherwise, and stay.
_SLOWER: Final = {
    "DDIMScheduler",
    "DDPMScheduler",
    "EulerDiscreteScheduler",
    "LMSDiscreteScheduler",
    "PNDMScheduler",
}


def recommended(name: str, pipeline: DiffusionPipeline, scheduler: SchedulerMixin) -> Recommended:
    """Settings for the model called ``name``.

    Distilled models are known by their scheduler or, because files say nothing else, by their name; a wrong guess
    costs quality and nothing more, and whoever asks may ask otherwise.
    """
    if name == BUNDLED:
        return _BUNDLED
    told = Path(name).name.lower()  # not of the folders that it lies in, or of who published it
    if "turbo" in told or "lightning" in told:
        return _TURBO
    unet, transformer = getattr(pipeline, "unet", None), getattr(pipeline, "transformer", None)
    if unet is not None and unet.config.get("time_cond_proj_dim"):
        return _CONSISTENCY
    if "lcm" in told or type(scheduler).__name__ in _CONSISTENT_SCHEDULERS:
        return _CONSISTENCY_LORA
    if (
        transformer is not None and "guidance_embeds" in transformer.config
    ):  # Flux: dev has them, schnell has none
        return _GUIDED_FLOW if transformer.config["guidance_embeds"] else _SHORT_FLOW
    if type(scheduler).__name__.startswith("FlowMatch"):
        return _FLOW
    return _XL if "XL" in type(pipeline).__name__ else _DIFFUSION


def solver(name: str, pipeline: DiffusionPipeline) -> str | None:
    """The server's name of the scheduler that a model is best asked with; None for that which it brought along.

    Few-step models were distilled for their own. So were, most likely, those whose schedule is "trailing", which begins
    at pure noise; a schedule without a signal at its end has no logarithm there, by which the second order goes.
    """
    own = pipeline.scheduler
    best = recommended(name, pipeline, own)
    if best is _CONSISTENCY_LORA:
        return None if type(own).__name__ in _CONSISTENT_SCHEDULERS else _CONSISTENT
    special = own.config.get("timestep_spacing") == "trailing" or own.config.get("rescale_betas_zero_snr")
    slower = best in (_DIFFUSION, _XL) and type(own).__name__ in _SLOWER
    return _SECOND_ORDER if slower and not special else None
