"""What a model is best asked with, by its family: steps, guidance, and how far a variation may go.

Sources: the model cards of Stable Diffusion 1.5 and SDXL, of SDXL-Turbo and SD-Turbo, and of the latent consistency
models; for the bundled model its own card.
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
    denoiser = getattr(pipeline, "unet", None)
    if denoiser is not None and denoiser.config.get("time_cond_proj_dim"):
        return _CONSISTENCY
    if "lcm" in told or type(scheduler).__name__ in {"LCMScheduler", "TCDScheduler"}:
        return _CONSISTENCY_LORA
    return _XL if "XL" in type(pipeline).__name__ else _DIFFUSION
