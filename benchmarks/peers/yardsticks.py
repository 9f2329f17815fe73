"""Yardsticks beside the programs: the cheapest things that private images are good for, and those images themselves.

They ask no server. Releases are as in ``benchmarks.selectors.yardsticks``, at the setting's ε, under replace-one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from benchmarks.peers.contenders import DELTA, ENCODER, Setting
from benchmarks.private_sets import draw
from benchmarks.selectors.grid import NEAREST_MEAN, RANDOM_PHASE, Trial
from benchmarks.selectors.yardsticks import classify_by_means, paint_random_phases
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import load_encoder

SHOTS = "shots"


@dataclass(frozen=True)
class Yardstick:
    """One of them.

    Attributes:
        name: For people.
        method: Which.
    """

    name: str
    method: str

    @property
    def paints(self) -> bool:
        """True if there are images that a judge can be trained on."""
        return self.method != NEAREST_MEAN


YARDSTICKS = (
    Yardstick("random phases under a released spectrum", RANDOM_PHASE),
    Yardstick("nearest released mean, no images", NEAREST_MEAN),
    Yardstick("the private images themselves, not private", SHOTS),
)


def training_set(yardstick: Yardstick, setting: Setting, seed: int) -> tuple[list[Image.Image], np.ndarray]:
    """Images to train on, and the class of each."""
    private, _ = draw(setting.world, setting.shots, seed)
    if yardstick.method == SHOTS:
        return [each for each in private.items if isinstance(each, Image.Image)], np.asarray(private.targets)
    images, targets = paint_random_phases(_trial(yardstick, setting, seed), private, SeededNoise(seed))
    return images, np.array(targets)


def score_means(yardstick: Yardstick, setting: Setting, seed: int) -> float:
    """Accuracy of the released means on held-out images, by the encoder that they are of."""
    private, held_out = draw(setting.world, setting.shots, seed)
    encoder = load_encoder(ENCODER)
    trial = _trial(yardstick, setting, seed)
    found = classify_by_means(trial, private, encoder, encoder.embed(held_out.items), SeededNoise(seed))
    return float((found == held_out.targets).mean())


def _trial(yardstick: Yardstick, setting: Setting, seed: int) -> Trial:
    return Trial(
        setting.world,
        yardstick.method,
        f"{setting.epsilon:g}",
        setting.shots,
        seed,
        DELTA,
        setting.candidates,
    )
