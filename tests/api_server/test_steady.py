"""A picture is the same to the bit whoever else asks: companions, places and batch sizes do not show."""

import dataclasses

import numpy as np
import pytest
import torch
from PIL import Image

from pcevolve_server.diffusion.numerics import IMAGES
from pcevolve_server.errors import AbandonedError
from pcevolve_server.settings import Batching, Precision
from pcevolve_server.work import Recipe, Task, generate
from support.tiny_model import load

pytestmark = pytest.mark.models

RECIPE = Recipe(width=64, height=64, steps=3, guidance=5.0)
PROMPTS = ("A handwritten digit image with digit 3", "A steel surface image with scratches", "")
WAYS = {
    "creations": ({}, 1),
    "creations in two threads": ({}, 2),
    "unguided creations": ({"guidance": 1.0}, 1),
    "variations": ({"strength": 0.6}, 2),
    "other sizes": ({"width": 72, "height": 40}, 1),
}
"""What is asked for, and in how many threads."""


@pytest.fixture(scope="module", params=[Precision.FLOAT32, Precision.BFLOAT16])
def bundled(request):
    return load(model="bundled", device="cpu", precision=request.param)


@pytest.fixture(params=WAYS)
def changes(request):
    asked, threads = WAYS[request.param]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    yield asked
    torch.set_num_threads(before)


def task(number, **changes):
    recipe = dataclasses.replace(RECIPE, **changes)
    image = picture(number % 3) if recipe.strength else None
    return Task(recipe, PROMPTS[number % 3], "blurred" if number % 2 else "", number, image)


def picture(number):
    pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((64, 64))


def drawn(generator, tasks):
    return [made.image.tobytes() for made in generate(generator, tasks)]


def test_a_picture_has_the_same_bits_alone_and_at_every_place_of_a_batch(bundled, changes):
    assert bundled.companions == IMAGES
    assert bundled.padded
    # One step shows it as well as three, and bfloat16 is slow on processors that have no instructions for it.
    steps = 1 if bundled.text_to_image.dtype == torch.bfloat16 else RECIPE.steps
    tasks = [task(number, steps=steps, **changes) for number in range(IMAGES + 3)]
    together = drawn(bundled, tasks)
    assert len(set(together)) == len(tasks)
    assert drawn(bundled, tasks[::-1]) == together[::-1]
    assert drawn(bundled, tasks[5:8]) == together[5:8]
    assert drawn(bundled, tasks[-1:]) == together[-1:]


def test_without_fixed_sizes_companions_show():
    loose = load(model="bundled", device="cpu", precision=Precision.FLOAT32, batching=Batching.MERGE)
    assert loose.companions == 1
    assert not loose.padded
    tasks = [task(number) for number in range(IMAGES)]
    assert any(drawn(loose, [each]) != [one] for each, one in zip(tasks, drawn(loose, tasks), strict=True))


def counting(calls, function):
    def counted(*positional, **named):
        calls.append(1)
        return function(*positional, **named)

    return counted


def test_a_run_ends_after_the_step_at_which_nobody_wants_it(monkeypatch):
    generator = load(model="bundled", device="cpu")
    steps = []
    unet = generator.text_to_image.unet
    monkeypatch.setattr(unet, "forward", counting(steps, unet.forward))
    with pytest.raises(AbandonedError):
        generate(generator, [task(0, steps=9)], lambda *_: len(steps) == 2)
    assert len(steps) == 2
