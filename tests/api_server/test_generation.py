"""The diffusers generator on a real, tiny, random Stable Diffusion pipeline."""

import dataclasses
import time

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.errors import InvalidRequestError
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


def test_different_seeds_and_prompts_give_different_images(generator):
    first, second = pixels(generator.create(tasks(1, 2)))
    (other,) = pixels(generator.create(tasks(1, prompt="dog")))
    assert (first != second).any()
    assert (first != other).any()


def test_an_image_is_the_same_to_the_bit_in_any_batch_of_one_size(generator):
    alone = pixels(generator.create(tasks(3, 1, 2, 4)))[0]
    others = [*tasks(9, prompt="dog"), *tasks(3), *tasks(8, 7, prompt="hat")]
    assert (pixels(generator.create(others))[1] == alone).all()


@pytest.mark.parametrize("batch", [2, 5, 16])
def test_an_image_moves_by_rounding_alone_when_the_batch_changes_size(generator, batch):
    alone = pixels(generator.create(tasks(3)))[0]
    together = pixels(generator.create(tasks(*range(batch - 1), 3)))[-1]
    assert np.abs(alone - together).max() <= 1
    assert (alone != together).mean() < 0.05


def test_a_variation_does_not_depend_on_the_rest_of_its_batch(generator, varied):
    mine, other = noise_image(1), noise_image(2)
    both = tasks(5, image=mine, strength=0.6) + tasks(6, image=other, strength=0.6)
    alone = varied(0.6, image=mine)
    assert np.abs(pixels(generator.vary(both))[0] - alone).max() <= 1


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("pair", [(0.60, 0.62), (0.62, 0.64), (0.06, 0.08)])
def test_strengths_two_hundredths_apart_differ_at_ten_steps(varied, scheduler, pair):
    lower, upper = (varied(strength, scheduler=scheduler) for strength in pair)
    assert np.abs(lower - upper).mean() > 0.1


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_strength_one_is_the_creation_of_that_seed_whatever_the_input(generator, varied, scheduler):
    (created,) = pixels(generator.create(tasks(5, scheduler=scheduler)))
    for image in (noise_image(1), noise_image(2)):
        assert (varied(1.0, image=image, scheduler=scheduler) == created).all()


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_strength_below_one_depends_on_the_input(varied, scheduler):
    first, second = (varied(0.6, image=noise_image(seed), scheduler=scheduler) for seed in (1, 2))
    assert (first != second).any()


def test_strength_zero_returns_the_input(varied):
    assert (varied(0.0) == np.asarray(noise_image())).all()


@pytest.mark.parametrize("steps", [1, 2, 3, 50])
@pytest.mark.parametrize("strength", [0.001, 0.02, 0.5, 0.999])
def test_every_strength_runs_at_every_number_of_steps(varied, strength, steps):
    assert varied(strength, steps=steps).shape == (32, 32, 3)


def test_a_variation_keeps_the_size_of_the_recipe(varied):
    assert varied(0.5, image=noise_image(size=(43, 33)), width=40, height=32).shape == (32, 40, 3)


def test_guidance_can_be_off(generator):
    assert len(generator.create(tasks(1, guidance=0.0))) == 1


def test_an_unknown_scheduler_is_refused_with_the_names_of_the_known(generator):
    with pytest.raises(InvalidRequestError, match=r"unknown scheduler; this model has: ddim, .*euler"):
        generator.create(tasks(1, scheduler="nope"))


def test_long_prompts_are_cut_by_tokens_and_counted(generator):
    limit = 16 - 2  # start and end take two
    fits, over = " ".join("a" * limit), " ".join("a" * (limit + 3))
    exact, cut = generator.create(tasks(1, prompt=fits)), generator.create(tasks(1, prompt=over))
    assert (exact[0].cut_tokens, cut[0].cut_tokens) == (0, 3)
    assert (pixels(exact) == pixels(cut)).all()


def test_the_model_says_what_it_is(generator):
    info = generator.info
    assert (info.id, info.family) == ("tiny", "stable-diffusion")
    assert (info.base_resolution.width, info.base_resolution.height) == (32, 32)
    assert info.pipelines == ("text-to-image", "image-to-image")


def test_both_pipelines_share_one_set_of_weights(generator):
    for name in ("unet", "vae", "text_encoder"):
        assert getattr(generator.text_to_image, name) is getattr(generator.image_to_image, name)


@pytest.mark.parametrize(("changes", "made"), [({}, "create"), ({"strength": 0.5}, "vary")])
def test_the_stages_of_a_run_are_measured_and_add_up_to_it(generator, changes, made):
    asked = tasks(1, 2, image=noise_image() if changes else None, **changes)
    started = time.perf_counter()
    pictures = getattr(generator, made)(asked)
    took = time.perf_counter() - started
    assert [set(picture.seconds) for picture in pictures] == [{"encode", "denoise", "decode"}] * 2
    assert all(seconds > 0 for picture in pictures for seconds in picture.seconds.values())
    assert 0.5 * took < sum(sum(picture.seconds.values()) for picture in pictures) <= took


def test_an_unchanged_input_has_no_stages(generator):
    (picture,) = generator.vary(tasks(1, image=noise_image(), strength=0.0))
    assert picture.seconds == {}


@pytest.mark.parametrize(("changes", "made"), [({}, "create"), ({"strength": 0.5}, "vary")])
def test_each_step_is_told_and_of_how_many(generator, changes, made):
    told = []

    def unwanted(step=0, steps=0):
        told.append((step, steps))
        return False

    asked = tasks(1, image=noise_image() if changes else None, steps=4, **changes)
    getattr(generator, made)(asked, unwanted)
    steps = told[0][1]
    assert steps in (asked[0].recipe.runs, asked[0].recipe.runs + 1)  # pndm takes one twice
    assert told == [(step + 1, steps) for step in range(steps)]
