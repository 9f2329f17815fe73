"""Schedulers by name, and schedules of diffusion and of flow matching that begin at an exact strength.

In flow matching, a sample of level ``sigma`` is ``(1 - sigma) * image + sigma * noise``. The model gets ``sigma``
as the time (Lipman et al. 2023, arXiv 2210.02747; Esser et al. 2024, arXiv 2403.03206). A schedule of n steps
takes equal steps in ``u`` from 1 to 0 and *shifts* them towards noise, more strongly for larger images:
``sigma = a * u / (1 + (a - 1) * u)``.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import math
from typing import Any, Final, Self

import diffusers
import torch
from diffusers import EulerAncestralDiscreteScheduler, FlowMatchEulerDiscreteScheduler, SchedulerMixin
from torch import Tensor

from pcevolve_server.errors import InvalidRequestError, ModelLoadError


class FlowFrom(FlowMatchEulerDiscreteScheduler):  # type: ignore[misc]  # the library has no types
    """The scheduler's own schedule, compressed in ``u`` so that it begins at a given ``sigma``.

    The shift spaces the compressed part like a whole schedule. If ``sigma`` is 1, the schedule is unchanged.
    """

    begin: float = 1.0
    sigmas: Tensor

    @classmethod
    def of(cls, scheduler: SchedulerMixin, begin: float) -> Self:
        """Return the schedule of ``scheduler`` from the level ``begin`` on. ``begin`` is in (0, 1]."""
        made: Self = cls.from_config(scheduler.config)
        made.begin = begin
        return made

    # Pipelines inspect the names of the arguments.
    def set_timesteps(
        self,
        num_inference_steps: int | None = None,
        device: Any = None,  # noqa: ANN401 - the library's signature
        sigmas: Any = None,  # noqa: ANN401
        mu: float | None = None,
        timesteps: Any = None,  # noqa: ANN401
    ) -> None:
        """Set the noise levels of a run: ``num_inference_steps`` levels and a zero."""
        super().set_timesteps(num_inference_steps, device, sigmas, mu, timesteps)
        whole, shift = self.sigmas[:-1], self._shift_by(mu)
        first = _unshift(torch.tensor(self.begin), shift) / _unshift(whole[0], shift)
        found = _shift(_unshift(whole, shift) * first, shift)
        found[0] = self.begin
        self.sigmas = torch.cat([found, self.sigmas[-1:]])
        self.timesteps = found * self.config.num_train_timesteps

    def _shift_by(self, mu: float | None) -> float:
        if not self.config.use_dynamic_shifting or mu is None:
            return float(self.shift)
        return mu if self.config.time_shift_type == "linear" else math.exp(mu)


def _shift(u: Tensor, by: float) -> Tensor:
    return by * u / (1 + (by - 1) * u)


def _unshift(sigma: Tensor, by: float) -> Tensor:
    return sigma / (by - (by - 1) * sigma)


_MULTISTEP: Final = {"algorithm_type": "dpmsolver++", "solver_order": 2}
# DDIM and DDPM clip to [-1, 1] by default. Latents are not images, and clipping ruins them.
SCHEDULERS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "ddim": ("DDIMScheduler", {"clip_sample": False}),
    "ddpm": ("DDPMScheduler", {"clip_sample": False}),
    "dpmpp_2m": ("DPMSolverMultistepScheduler", _MULTISTEP),
    "dpmpp_2m_karras": ("DPMSolverMultistepScheduler", {**_MULTISTEP, "use_karras_sigmas": True}),
    "euler": ("EulerDiscreteScheduler", {}),
    "euler_a": ("EulerAncestralDiscreteScheduler", {}),
    "heun": ("HeunDiscreteScheduler", {}),
    "lcm": ("LCMScheduler", {}),
    # This scheduler needs SciPy, which the server does not require.
    **({"lms": ("LMSDiscreteScheduler", {})} if importlib.util.find_spec("scipy") else {}),
    "pndm": ("PNDMScheduler", {"skip_prk_steps": True}),
    "unipc": ("UniPCMultistepScheduler", {}),
}


# Settings that belong to a model's training or distillation. All other settings are a sampler's choice.
_TRAINED: Final = {
    "beta_end",
    "beta_schedule",
    "beta_start",
    "num_train_timesteps",
    "original_inference_steps",
    "prediction_type",
    "rescale_betas_zero_snr",
    "set_alpha_to_one",
    "sigma_max",
    "sigma_min",
    "steps_offset",
    "timestep_scaling",
    "timestep_spacing",
    "timestep_type",
    "trained_betas",
}


def names_for(own: SchedulerMixin) -> tuple[str, ...]:
    """Return the schedulers that can run a model on the noise schedule of ``own``.

    Some schedulers do not support a schedule without a signal at its end, and would silently run another schedule.
    The noise levels of Karras depend on that signal's logarithm, and would be almost all noise.
    """
    if not own.config.get("rescale_betas_zero_snr"):
        return tuple(SCHEDULERS)
    return tuple(
        name
        for name, (kind, extra) in SCHEDULERS.items()
        if "rescale_betas_zero_snr" in inspect.signature(getattr(diffusers, kind)).parameters
        and not extra.get("use_karras_sigmas")
    )


def scheduler_named(name: str | None, own: SchedulerMixin) -> SchedulerMixin:
    """Return a new scheduler on the noise schedule of ``own``, the model's scheduler. Name ``None`` keeps its kind.

    A name means the same sampler for every model. Settings of the model's own scheduler, such as Karras noise
    levels or a solver's order, do not apply to the new scheduler.

    Args:
        name: A key of ``SCHEDULERS``. Other names have been refused before.
    """
    if name is None:
        return type(own).from_config(own.config)
    kind, extra = SCHEDULERS[name]
    # Defaults that are not written down belong to the model's sampler, not to the model.
    defaults = own.config.get("_use_default_values", ())
    trained = {each: own.config[each] for each in _TRAINED & own.config.keys() if each not in defaults}
    return getattr(diffusers, kind).from_config(trained | extra)


def check(scheduler: SchedulerMixin) -> None:
    """Refuse a scheduler that :func:`begin_at` does not support, or whose noise does not depend on the seed.

    Raises:
        ModelLoadError: The scheduler is refused. The message names it.
    """
    name = type(scheduler).__name__
    if not is_discrete(scheduler) and not isinstance(scheduler, FlowMatchEulerDiscreteScheduler):
        raise ModelLoadError(f"{name} cannot start at an exact strength")
    # Checked by name, because the setting stays in the configuration of schedulers made from this one.
    if scheduler.config.get("stochastic_sampling") or name == "DPMSolverSDEScheduler":
        raise ModelLoadError(f"{name} draws noise that an image's seed does not determine")


def begin_at_first_level(scheduler: SchedulerMixin) -> SchedulerMixin:
    """Make a scheduler's runs begin at their first level, and an ancestral scheduler's runs reach each next level.

    If the first two levels round to one timestep, the library begins at the second level, and runs past the last level.
    For a step from a level such as 20,000 down to 1 in single precision, the library computes noise of a little more
    than the new level, and takes the root of a negative number.
    """
    set_timesteps = scheduler.set_timesteps

    @functools.wraps(set_timesteps)  # pipelines look at the names of its arguments
    def set_from_first_level(*positional: Any, **named: Any) -> None:  # noqa: ANN401 - whatever pipelines hand over
        set_timesteps(*positional, **named)
        scheduler.set_begin_index(0)
        if isinstance(scheduler, EulerAncestralDiscreteScheduler) and _adds_too_much(scheduler.sigmas):
            scheduler.sigmas = scheduler.sigmas.double()

    if hasattr(scheduler, "set_begin_index"):
        scheduler.set_timesteps = set_from_first_level
    return scheduler


def _adds_too_much(sigmas: Tensor) -> bool:
    """True if rounding makes an ancestral step's noise larger than the step's new level."""
    before, after = sigmas[:-1], sigmas[1:]
    added = (after**2 * (before**2 - after**2) / before**2) ** 0.5
    return bool((added**2 > after**2).any())


def is_discrete(scheduler: SchedulerMixin) -> bool:
    """True for diffusion, which has a list of noise levels. Flow matching has all levels from 0 to 1."""
    return getattr(scheduler, "betas", None) is not None and not scheduler.config.get("use_flow_sigmas")


def levels(scheduler: SchedulerMixin) -> int:
    """Return the resolution of ``strength``: the number of noise levels in training, mostly 1000."""
    found: int = scheduler.config.num_train_timesteps
    return found


def level_of_strength(scheduler: SchedulerMixin, strength: float | None) -> int:
    """Return the index of the noise level at which a variation begins, among those of :func:`levels`.

    Index 0 is the image itself, and the last index a new image.

    Args:
        strength: In [0, 1]. None means 1.
    """
    # A whole number of training levels. With 10 steps, the library would treat strengths 0.60 to 0.69 alike.
    return round((1.0 if strength is None else strength) * levels(scheduler))


def fit_steps(scheduler: SchedulerMixin, steps: int) -> SchedulerMixin:
    """Return a scheduler that can run this many steps.

    Raises:
        InvalidRequestError: The consistency model was distilled from fewer steps. The message gives the limit.
    """
    most = scheduler.config.get("original_inference_steps")
    if most is not None and steps > most:
        raise InvalidRequestError(f"steps: this model takes at most {most}")
    if steps == 1 and scheduler.config.get("shift_terminal"):
        # With one step, the only level is pure noise. Stretching levels to another last level would give NaN.
        return type(scheduler).from_config(scheduler.config, shift_terminal=None)
    return scheduler


def run_steps(share: float, steps: int) -> int:
    """Return the number of model runs for ``share`` of a schedule of ``steps``, rounded up."""
    # 0.07 * 100 is 7.000000000000001. The inner rounding keeps the result from becoming 8.
    return max(1, math.ceil(round(share * steps, 6)))


def begin_at(scheduler: SchedulerMixin, kept: int) -> SchedulerMixin:
    """Return a scheduler of the same kind that begins at the noise level ``kept`` of :func:`levels`.

    diffusers starts image-to-image at a whole number of *inference* steps. With 10 steps, the strengths 0.60 to 0.69
    would be the same.
    """
    if is_discrete(scheduler):
        return _truncate(scheduler, kept)
    return FlowFrom.of(scheduler, kept / levels(scheduler))


def _truncate(scheduler: SchedulerMixin, kept: int) -> SchedulerMixin:
    """Return a scheduler of the same kind whose first timestep is exactly ``kept - 1``.

    The *training* schedule is cut. The first ``kept`` noise levels are a complete schedule, in which each timestep
    keeps its meaning for the model, and any sampler can run that schedule. With "trailing" spacing the run starts at
    the last of these levels.
    """
    changes = {
        "trained_betas": scheduler.betas[:kept].tolist(),
        "num_train_timesteps": kept,
        "timestep_spacing": "trailing",
        "steps_offset": 0,
        # The betas that are passed on are already rescaled.
        "rescale_betas_zero_snr": False,
        # Consistency models were distilled on about every 20th level. A coarser grid would round the first level
        # down.
        "original_inference_steps": kept,
    }
    known = {name: value for name, value in changes.items() if name in scheduler.config}
    return type(scheduler).from_config(scheduler.config, **known)
