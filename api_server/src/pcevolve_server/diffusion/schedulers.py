"""Schedulers by name, and schedules that begin at an exact strength."""

import math
from typing import Any, Final

import diffusers
from diffusers import SchedulerMixin

from pcevolve_server.errors import InvalidRequestError

_MULTISTEP: Final = {"algorithm_type": "dpmsolver++", "solver_order": 2}
# Latents are not images: clipping them to [-1, 1], which DDIM and DDPM do unless told, ruins them.
SCHEDULERS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "ddim": ("DDIMScheduler", {"clip_sample": False}),
    "ddpm": ("DDPMScheduler", {"clip_sample": False}),
    "dpmpp_2m": ("DPMSolverMultistepScheduler", _MULTISTEP),
    "dpmpp_2m_karras": ("DPMSolverMultistepScheduler", {**_MULTISTEP, "use_karras_sigmas": True}),
    "euler": ("EulerDiscreteScheduler", {}),
    "euler_a": ("EulerAncestralDiscreteScheduler", {}),
    "heun": ("HeunDiscreteScheduler", {}),
    "pndm": ("PNDMScheduler", {"skip_prk_steps": True}),
    "unipc": ("UniPCMultistepScheduler", {}),
}


def scheduler_named(name: str | None, own: SchedulerMixin) -> SchedulerMixin:
    """Return a fresh scheduler on the noise schedule of ``own``, the model's; ``None`` keeps its kind.

    Raises:
        InvalidRequestError: No such scheduler.
    """
    if name is None:
        return type(own).from_config(own.config)
    if name not in SCHEDULERS:
        raise InvalidRequestError(f"unknown scheduler; this model has: {', '.join(SCHEDULERS)}")
    kind, extra = SCHEDULERS[name]
    return getattr(diffusers, kind).from_config(own.config, **extra)


def has_noise_schedule(scheduler: SchedulerMixin) -> bool:
    """Return whether :func:`begun_at` applies: discrete diffusion does, flow matching does not."""
    return getattr(scheduler, "betas", None) is not None


def levels(scheduler: SchedulerMixin, steps: int) -> int:
    """Return how finely ``strength`` is resolved: the model's noise levels, 1000 for most, or the steps."""
    return len(scheduler.betas) if has_noise_schedule(scheduler) else steps


def run_steps(share: float, steps: int) -> int:
    """Return the model runs for ``share`` of a schedule at the stride of ``steps``, rounded up."""
    # 0.07 * 100 is 7.000000000000001: the inner rounding keeps that from becoming 8.
    return max(1, math.ceil(round(share * steps, 6)))


def begun_at(scheduler: SchedulerMixin, kept: int) -> SchedulerMixin:
    """Return a scheduler of the same kind whose first timestep is exactly ``kept - 1``.

    diffusers starts image-to-image at a whole number of *inference* steps, so that at 10 steps the
    strengths 0.60 to 0.69 are one. Here the *training* schedule ends early instead: the first ``kept``
    noise levels are a schedule of their own, with the same meaning of every timestep to the model, and
    any sampler can run through it whole. "trailing" spacing makes it start at the last of them.
    """
    changes = {
        "trained_betas": scheduler.betas[:kept].tolist(),
        "num_train_timesteps": kept,
        "timestep_spacing": "trailing",
        "steps_offset": 0,
        # Already applied to the betas that are handed over.
        "rescale_betas_zero_snr": False,
    }
    known = {name: value for name, value in changes.items() if name in scheduler.config}
    return type(scheduler).from_config(scheduler.config, **known)
