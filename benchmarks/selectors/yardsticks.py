"""The cheapest things that ten private images per class are good for, without any generator, at the same budget.

- ``nearest-mean``: no images at all; the nearest released mean of ``dp-means`` classifies, in the encoder's frame.
- ``random-phase``: images of random phases under a released power spectrum of each class: seventeen numbers, the log
  power of a grey image in sixteen rings of frequencies and its mean tone, clipped to a public ball and released once.

A unit's vector lies in a ball of radius R round a public centre, so under replace-one the sums of all classes move by
at most 2 R, which is what a unit attains that goes from one end of the ball to the other; a changed label moves two
sums by R each, which is less.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from PIL import Image

from benchmarks.selectors.grid import Trial
from benchmarks.split import SETS
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.dp.calibration import bounded_sum_sensitivity, smallest_noise_multiplier
from pcevolve.public.dp.mechanisms import Noise
from pcevolve.public.encoders import Encoder
from pcevolve.public.geometry.frame import project
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means, means_of
from pcevolve.public.selectors.rounds import pay_for_centre
from pcevolve.public.words import TEMPLATE, fill
from pcevolve_server.diffusion.generator import DiffusionGenerator
from pcevolve_server.work import Recipe, Task
from pcevolve_shared.wire import Recommended

SIDE, RINGS = 64, 16
LOWEST = 1e-8
"""Power that counts as none."""
TONE_SCALE = 8.0
"""So that tones of public photographs spread as the log power of a ring does."""
CENTRE = np.array((
    0.16, -1.17, -2.29, -3.08, -3.59, -4.16, -4.61, -4.94, -5.28, -5.63, -5.92, -6.2, -6.52, -6.83, -7.1, -7.33, 4.17,
))  # fmt: skip
RADIUS = 5.12
"""Mean and median distance from it of 720 public photographs of eighteen domains, forty of each."""


@cache
def _rings() -> np.ndarray:
    """The ring of each frequency of a real transform, int64 ``(SIDE, SIDE // 2 + 1)``; RINGS: corners and mean."""
    down, across = np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE)[None]
    ring = np.floor(np.hypot(down, across) * 2 * RINGS).astype(np.int64)
    ring[0, 0] = RINGS
    return np.minimum(ring, RINGS)


def spectra(pictures: Sequence[Image.Image]) -> np.ndarray:
    """Log power by ring and mean tone, float64 ``(pictures, RINGS + 1)``."""
    found = []
    for picture in pictures:
        grey = np.asarray(picture.convert("L").resize((SIDE, SIDE), Image.Resampling.LANCZOS)) / 255.0
        power = np.abs(np.fft.rfft2(grey)) ** 2 / grey.size
        total = np.bincount(_rings().ravel(), power.ravel(), RINGS + 1)[:RINGS]
        mean = total / np.bincount(_rings().ravel(), minlength=RINGS + 1)[:RINGS]
        found.append([*np.log(mean + LOWEST), TONE_SCALE * grey.mean()])
    return np.array(found)


def paint(released: np.ndarray, count: int, seed: Sequence[int]) -> list[Image.Image]:
    """Grey images of random phases under one class's released numbers."""
    random = np.random.default_rng(seed)
    amplitude = np.exp(np.append(released[:RINGS], released[RINGS - 1]) / 2)[_rings()]
    amplitude[0, 0] = 0.0
    made = []
    for _ in range(count):
        phases = np.fft.rfft2(
            random.normal(size=(SIDE, SIDE))
        )  # unit power in the mean at each frequency, and real
        field = np.fft.irfft2(amplitude * phases, (SIDE, SIDE)) + released[RINGS] / TONE_SCALE
        made.append(Image.fromarray((255 * field.clip(0, 1)).round().astype(np.uint8)).convert("RGB"))
    return made


def sum_clipped(private: PrivateDataset) -> np.ndarray:
    """Of each class, the sum of its images' offsets from the public centre, float64 ``(classes, RINGS + 1)``."""
    offsets = spectra([each for each in private.items if each is not None]) - CENTRE
    norms = np.linalg.norm(offsets, axis=1, keepdims=True)
    clipped = offsets * np.minimum(1.0, RADIUS / np.maximum(norms, 1e-12))
    return np.stack([clipped[private.targets == target].sum(axis=0) for target in range(len(private.labels))])


def paint_random_phases(
    trial: Trial, private: PrivateDataset, noise: Noise
) -> tuple[list[Image.Image], list[int]]:
    """The images of all classes, and the class of each."""
    multiplier = float(smallest_noise_multiplier(Budget(Fraction(trial.epsilon), trial.delta), 1))
    sigma = multiplier * RADIUS * bounded_sum_sensitivity("replace-one")
    means = CENTRE + noise.gaussian("spectra", sum_clipped(private), sigma) / trial.shots
    classes = range(len(private.labels))
    made = [paint(means[target], trial.candidates, (trial.seed, target)) for target in classes]
    return [image for of_class in made for image in of_class], list(np.repeat(classes, trial.candidates))


def classify_by_means(
    trial: Trial, private: PrivateDataset, encoder: Encoder, held_out: np.ndarray, noise: Noise
) -> np.ndarray:
    """The class of each held-out embedding by the nearest released mean, int64 ``(n,)``."""
    multiplier = smallest_noise_multiplier(Budget(Fraction(trial.epsilon), trial.delta), 1)
    nobody = np.full((1, encoder.dimension), np.nan)
    pools = (nobody,) * len(private.labels)
    scene = SelectionInput(
        private.labels, pools, 1, trial.shots, 1, 0, trial.seed, "replace-one", public=encoder.frame
    )
    known = PrivateEmbeddings(encoder.embed(private.items), private.targets, np.arange(len(private.targets)))
    events = pay_for_centre(((Event("gaussian", str(multiplier)),),))[0]
    measured = Means().measure(known, scene, events, noise)
    points = project(held_out, measured["centre"], measured["axes"])
    gaps = np.square(points[:, None] - means_of(measured)[None]).sum(axis=2)
    return np.asarray(gaps.argmin(axis=1))


STRENGTH = 0.8
"""Share of the generator's noise levels that are run through: the published PE schedules begin about there."""


def add_noise(private: PrivateDataset, budget: Budget, noise: Noise) -> list[Image.Image]:
    """Each private image once, with noise that protects it.

    Pixels lie between 0 and 1, so an image that is replaced by another moves by at most the square root of their
    number; each image is in one release.
    """
    sides = SIDE * SIDE * 3
    sigma = float(smallest_noise_multiplier(budget, 1)) * sides**0.5
    found = []
    for place, image in enumerate(private.items):
        assert image is not None
        pixels = np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS)) / 255.0
        released = noise.gaussian(f"image {place}", pixels.ravel(), sigma).reshape(pixels.shape)
        found.append(Image.fromarray((255 * released.clip(0, 1)).round().astype(np.uint8)))
    return found


def vary_noised(
    trial: Trial, private: PrivateDataset, model: DiffusionGenerator, advice: Recommended, noise: Noise
) -> tuple[list[Image.Image | None], list[int]]:
    """The images of all classes, and the class of each: as many variations of each noised image as are needed."""
    released = add_noise(private, Budget(Fraction(trial.epsilon), trial.delta), noise)
    recipe = Recipe(SIDE, SIDE, advice.steps, advice.guidance, strength=STRENGTH)
    tasks, targets = [], []
    for target, label in enumerate(private.labels):
        prompt = fill(TEMPLATE, SETS[trial.world].domain, label)
        own = [released[place] for place in np.flatnonzero(private.targets == target)]
        tasks += _tasks(recipe, prompt, own, trial, target)
        targets += [target] * trial.candidates
    return [each.image for each in model.vary(tasks)], targets


def _tasks(
    recipe: Recipe, prompt: str, images: Sequence[Image.Image], trial: Trial, target: int
) -> list[Task]:
    return [
        Task(recipe, prompt, "", _seed(trial.seed, target, number), images[number % len(images)])
        for number in range(trial.candidates)
    ]


def _seed(*parts: int) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big")
