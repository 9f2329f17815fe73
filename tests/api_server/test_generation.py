"""The diffusers generator on a real, tiny, random Stable Diffusion pipeline."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.work import Recipe, Task

pytestmark = pytest.mark.models

RECIPE = Recipe(width=32, height=32, steps=10)
SCHEDULERS = [
    None,
    "ddim",
    "dpmpp_2m",
    "dpmpp_2m_karras",
    "euler",
    "euler_a",
    "ddpm",
    "heun",
    "lcm",
    "lms",
    "pndm",
    "unipc",
]


def tasks(*seeds, prompt="a cat", image=None, **changes):
    recipe = dataclasses.replace(RECIPE, **changes)
    return [Task(recipe, prompt, "", seed, image) for seed in seeds]


def pixels(pictures):
    return np.stack([np.asarray(picture.image, dtype=int) for picture in pictures])


def noise_image(seed=0, size=(32, 32)):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*size[::-1], 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def varied(generator):
    """Return the pixels of one variation."""

    def vary(strength, *, image=None, seed=5, **changes):
        start = image or noise_image()
        return pixels(generator.vary(tasks(seed, image=start, strength=strength, **changes)))[0]

    return vary


def test_the_same_seed_gives_the_same_bytes_again(generator):
    assert (pixels(generator.create(tasks(1, 2))) == pixels(generator.create(tasks(1, 2)))).all()


def test_an_image_is_the_same_to_the_bit_in_any_batch_of_one_size(generator):
    alone = pixels(generator.create(tasks(3, 1, 2, 4)))[0]
    others = [*tasks(9, prompt="dog"), *tasks(3), *tasks(8, 7, prompt="hat")]
    assert (pixels(generator.create(others))[1] == alone).all()


def test_a_variation_does_not_depend_on_the_rest_of_its_batch(generator, varied):
    mine, other = noise_image(1), noise_image(2)
    both = tasks(5, image=mine, strength=0.6) + tasks(6, image=other, strength=0.6)
    alone = varied(0.6, image=mine)
    assert np.abs(pixels(generator.vary(both))[0] - alone).max() <= 1


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_strength_one_is_the_creation_of_that_seed_whatever_the_input(generator, varied, scheduler):
    (created,) = pixels(generator.create(tasks(5, scheduler=scheduler)))
    for image in (noise_image(1), noise_image(2)):
        assert (varied(1.0, image=image, scheduler=scheduler) == created).all()


def test_strength_zero_returns_the_input(varied):
    assert (varied(0.0) == np.asarray(noise_image())).all()


@pytest.mark.parametrize("steps", [1, 2, 3, 50])
@pytest.mark.parametrize("strength", [0.001, 0.02, 0.5, 0.999])
def test_every_strength_runs_at_every_number_of_steps(varied, strength, steps):
    assert varied(strength, steps=steps).shape == (32, 32, 3)
