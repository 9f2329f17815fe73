"""Flow matching from an exact noise level on.

A sample of level ``sigma`` is ``(1 - sigma) * image + sigma * noise``, and ``sigma`` is also the time that the model is
told (Lipman et al. 2023, arXiv 2210.02747; Esser et al. 2024, arXiv 2403.03206). A schedule of n steps takes equal
steps in ``u`` from 1 to 0 and *shifts* them towards noise, the more so for larger images:
``sigma = a * u / (1 + (a - 1) * u)``.
"""

from __future__ import annotations

import math
from typing import Any, Self

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, SchedulerMixin
from torch import Tensor


class FlowFrom(FlowMatchEulerDiscreteScheduler):  # type: ignore[misc]  # the library has no types
    """Its own schedule, drawn together in ``u`` so that it begins at a given ``sigma``.

    What is drawn together is the part of a run that is left at that level: the shift spaces it as it spaces all runs.
    A beginning of 1 is the schedule itself.
    """

    begin: float = 1.0
    sigmas: Tensor

    @classmethod
    def of(cls, scheduler: SchedulerMixin, begin: float) -> Self:
        """The schedule of ``scheduler`` from the level ``begin`` on, in (0, 1]."""
        made: Self = cls.from_config(scheduler.config)
        made.begin = begin
        return made

    # Pipelines look at the names of the arguments.
    def set_timesteps(
        self,
        num_inference_steps: int | None = None,
        device: Any = None,  # noqa: ANN401 - the library's signature
        sigmas: Any = None,  # noqa: ANN401
        mu: float | None = None,
        timesteps: Any = None,  # noqa: ANN401
    ) -> None:
        """Set the noise levels of a run, ``num_inference_steps`` and a zero."""
        super().set_timesteps(num_inference_steps, device, sigmas, mu, timesteps)
        whole, shift = self.sigmas[:-1], self._shift_by(mu)
        first = _unshifted(torch.tensor(self.begin), shift) / _unshifted(whole[0], shift)
        found = _shifted(_unshifted(whole, shift) * first, shift)
        found[0] = self.begin
        self.sigmas = torch.cat([found, self.sigmas[-1:]])
        self.timesteps = found * self.config.num_train_timesteps

    def _shift_by(self, mu: float | None) -> float:
        if not self.config.use_dynamic_shifting or mu is None:
            return float(self.shift)
        return mu if self.config.time_shift_type == "linear" else math.exp(mu)


def _shifted(u: Tensor, by: float) -> Tensor:
    return by * u / (1 + (by - 1) * u)


def _unshifted(sigma: Tensor, by: float) -> Tensor:
    return sigma / (by - (by - 1) * sigma)
