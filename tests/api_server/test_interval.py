"""Guidance between two noise levels: where it is on, what it costs, and which models it is for."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.model_settings import Batching, Precision
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


def test_prompts_keep_to_their_images(within):
    both, _ = within(0.3, 0.7)
    alone = [within(0.3, 0.7, prompts=(prompt,))[0][0] for prompt in ("a cat", "a dog")]
    assert np.abs(both - np.stack(alone)).max() <= 1
    assert (both[0] != both[1]).any()
