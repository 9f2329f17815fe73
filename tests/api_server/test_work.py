"""What a model is asked for: what a request costs, where a variation starts, and seeds of retries."""

from __future__ import annotations

import pytest
from PIL import Image

from pcevolve_server.errors import GenerationError
from pcevolve_server.work import Recipe, Task


def test_every_retry_of_every_seed_has_a_seed_of_its_own():
    tasks = [Task(Recipe(8, 8), "", "", seed) for seed in range(3)]
    seeds = [each.seed for task in tasks for each in (task, *(task.retry(number) for number in range(1, 5)))]
    assert len(set(seeds)) == 15


def test_a_place_in_the_queue_costs_pixels_times_the_steps_that_are_run():
    assert Recipe(8, 16).cost == 8 * 16 * 50
    assert Recipe(8, 16, steps=10, strength=0.25).cost == 8 * 16 * 3
    assert Recipe(8, 16, steps=10, strength=0).cost == 8 * 16


def test_a_variation_starts_from_the_image_at_the_recipe_s_size():
    image = Image.new("RGB", (9, 16), (7, 8, 9))
    started = Task(Recipe(8, 16), "p", "", 1, image).start()
    assert (started.size, started.getpixel((0, 0))) == ((8, 16), (7, 8, 9))
    assert Task(Recipe(9, 16), "p", "", 1, image).start() is image
    with pytest.raises(GenerationError, match="a variation was requested without an image"):
        Task(Recipe(8, 8), "p", "", 1).start()
