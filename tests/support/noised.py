"""Small runs of DPImg through the real parts; for tests only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from pcevolve.dp.mechanisms import Noise, SecureNoise
from pcevolve.egress.transport import Transport
from pcevolve.methods import method
from pcevolve.private.dataset import PrivateDataset
from pcevolve.private.noising import NoisingJudge
from pcevolve.public.plan import PublicPlan
from support.runs import SmallRun, rng, small_plan


def noised_plan(**changes: object) -> PublicPlan:
    """Two classes, two noised private images of each, and two variations of each of those."""
    values: dict[str, object] = {
        "method": "dpimg", "varied": "noised", "initial": 0, "candidates": 4, "prototypes": 2, "shots": 2,
        "iterations": 1, "strengths": (0.8,), "delta": 1e-5,
    }  # fmt: skip
    return small_plan(**{**values, **changes})


def private_images(labels: tuple[str, ...], shots: int = 3) -> PrivateDataset:
    """A few images of each class, of another size than the plan's."""
    targets = np.repeat(np.arange(len(labels)), shots)
    pixels = (rng(row).integers(0, 256, (20, 24, 3)).astype(np.uint8) for row in range(len(targets)))
    pictures = tuple(map(Image.fromarray, pixels))
    return PrivateDataset(labels, pictures, targets, tuple(b"%d" % row for row in range(len(targets))))


def open_noised(
    root: Path, plan: PublicPlan, provider: Transport | None = None, noise: Noise | None = None
) -> SmallRun:
    """A run that is about to begin, with the real judge."""
    run = SmallRun.open(root, plan, provider)
    event = method(plan.method).planned(plan)[1][0]
    run.judge = NoisingJudge(private_images(plan.labels), run.account, noise or SecureNoise(), plan, event)
    return run


def noised_run(root: Path, plan: PublicPlan, provider: Transport | None = None) -> SmallRun:
    """A whole run, whose files are still open."""
    run = open_noised(root, plan, provider)
    run.finish()
    return run
