"""How far schedulers end from a known answer: a mixture of Gaussians, on the schedule of Stable Diffusion 1.5.

    .venv/bin/python -m benchmarks.solvers.known

A second of computing. What a perfect model would predict has a formula there, so that all that is off is the
scheduler's doing.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from diffusers import PNDMScheduler

from pcevolve_server.diffusion.schedulers import scheduler_named

OWN: Final = PNDMScheduler(
    beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", skip_prk_steps=True, steps_offset=1
)
MEANS: Final = np.random.default_rng(0).normal(size=(8, 32))
VARIANCE: Final = 0.05
WAYS: Final = (
    ("ddim", 50),
    ("euler", 50),
    ("pndm", 50),
    ("pndm", 25),
    ("dpmpp_2m", 20),
    ("dpmpp_2m_karras", 20),
    ("unipc", 20),
)


def noise_in(x: np.ndarray, time: float) -> np.ndarray:
    """The noise that is expected in ``x`` ``(samples, dimensions)`` at a time between 0 and 999."""
    signal = np.exp(np.interp(time, np.arange(1000), np.log(OWN.alphas_cumprod.double().numpy())))
    apart, variance = x[:, None] - np.sqrt(signal) * MEANS, signal * VARIANCE + 1 - signal
    log = -(apart**2).sum(-1) / 2 / variance
    weights = np.exp(log - log.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    return np.sqrt(1 - signal) * (weights[..., None] * apart).sum(1) / variance


def run(name: str, steps: int, begun: np.ndarray) -> np.ndarray:
    """Denoise by a scheduler, ``(samples, dimensions)``."""
    scheduler = scheduler_named(name, OWN)
    scheduler.set_timesteps(steps)
    x = torch.tensor(begun) * float(scheduler.init_noise_sigma)
    for time in scheduler.timesteps:
        seen = scheduler.scale_model_input(x, time).numpy()
        x = scheduler.step(torch.tensor(noise_in(seen, float(time))), time, x, return_dict=False)[0]
    return x.numpy()


def main() -> None:
    """Print the distance from 900 steps of DDIM, as a share of the data's size."""
    begun = np.random.default_rng(1).normal(size=(256, MEANS.shape[1]))
    truth = run("ddim", 900, begun)
    for name, steps in WAYS:
        off = np.sqrt(((run(name, steps, begun) - truth) ** 2).mean(1)) / np.sqrt((truth**2).mean())
        print(f"{name:16} {steps:3} steps: median {np.median(off):.4f}, mean {off.mean():.4f}")


if __name__ == "__main__":
    main()
