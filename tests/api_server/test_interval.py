"""Guidance between two noise levels: where it is on, what it costs, and which models it is for."""

import dataclasses
import math

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.diffusion.interval import Interval
from pcevolve_server.errors import ModelLoadError, SettingsError
from pcevolve_server.settings import Batching, ModelSettings, Precision
from pcevolve_server.work import Recipe, Task
from support.tiny_model import load

pytestmark = pytest.mark.models

RECIPE = Recipe(width=32, height=32, steps=10, guidance=5.0, scheduler="ddim")
PLAIN = {"device": "cpu", "threads": 1, "batching": Batching.MERGE, "precision": Precision.FLOAT32}
SOURCE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8))


@pytest.fixture
def within(tiny_model):
    """Return a function that draws with guidance between two levels, and says how many rows each step had."""

    def drawn(low=0.0, high=1.0, prompts=("a cat", "a dog"), **changes):
        options = PLAIN | {"batching": changes.pop("batching", Batching.MERGE)}
        generator = load(model=str(tiny_model), guidance_interval=(low, high), **options)
        rows, unet = [], generator.text_to_image.unet
        unet.conv_in.register_forward_pre_hook(lambda _, given: rows.append(len(given[0])))
        recipe = dataclasses.replace(RECIPE, **changes)
        image = SOURCE if recipe.strength else None
        tasks = [Task(recipe, prompt, "blurred", 3, image) for prompt in prompts]
        made = generator.vary(tasks) if image else generator.create(tasks)
        return np.stack([np.asarray(each.image, dtype=int) for each in made]), rows

    return drawn


def test_an_interval_has_its_ends():
    assert [level for level in (0.1, 0.2, 0.5, 0.6, 0.7) if Interval(0.2, 0.6).has(level)] == [0.2, 0.5, 0.6]


def test_all_levels_are_what_no_interval_is(within, tiny_model):
    pictures, rows = within()
    assert rows == [4] * 10
    nearly, more = within(low=1e-9)
    assert more == [4] * 10
    assert (nearly == pictures).all()


@pytest.mark.parametrize(
    ("low", "high", "guided"),
    [
        (0.5, 1.0, [4] * 6 + [2] * 4),
        (0.0, 0.5, [2] * 5 + [4] * 5),
        (0.3, 0.7, [2] * 3 + [4] * 5 + [2] * 2),
    ],
)
def test_a_step_costs_half_where_guidance_is_off(within, low, high, guided):
    assert sum(within(low, high)[1]) == pytest.approx(sum(guided), abs=2)
    assert within(low, high)[1][0] == guided[0]
    assert within(low, high)[1][-1] == guided[-1]


def test_guidance_that_is_on_nowhere_is_none(within):
    nowhere, rows = within(0.0, 1e-6)
    assert rows == [2] * 10
    assert (nowhere == within(guidance=1.0)[0]).all()


def test_prompts_keep_to_their_images(within):
    both, _ = within(0.3, 0.7)
    alone = [within(0.3, 0.7, prompts=(prompt,))[0][0] for prompt in ("a cat", "a dog")]
    assert np.abs(both - np.stack(alone)).max() <= 1
    assert (both[0] != both[1]).any()


def test_levels_of_a_variation_are_those_of_the_whole_schedule(within):
    _, rows = within(0.5, 1.0, strength=0.4)
    assert rows == [2] * len(rows)
    _, rows = within(0.0, 0.5, strength=0.4)
    assert rows == [4] * len(rows)
    _, rows = within(0.0, 0.5, strength=0.8)
    assert (rows[0], rows[-1]) == (2, 4)


def test_batches_of_one_size_are_as_large_as_they_have_to_be(within):
    _, rows = within(0.5, 1.0, batching=Batching.EXACT)
    assert (rows[0], rows[-1]) == (32, 16)


def test_the_next_run_is_guided_again(tiny_model):
    generator = load(model=str(tiny_model), guidance_interval=(0.5, 1.0), **PLAIN)
    task = Task(RECIPE, "a cat", "", 3, None)
    first, second = (np.asarray(generator.create([task])[0].image) for _ in range(2))
    assert (first == second).all()


def test_models_of_other_kinds_refuse_it(zoo):
    with pytest.raises(ModelLoadError, match="--guidance-interval is for Stable Diffusion 1 and 2"):
        load(model=str(zoo("sdxl")), guidance_interval=(0.2, 0.8), **PLAIN)


@pytest.mark.parametrize("ends", [(0.8, 0.2), (0.5, 0.5), (0.0, 1.1), (math.nan, 1.0)])
def test_ends_that_are_none_are_refused(ends):
    with pytest.raises(SettingsError, match="the smaller one first"):
        ModelSettings(guidance_interval=ends)
