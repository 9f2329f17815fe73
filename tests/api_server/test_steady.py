"""A picture is the same to the bit whoever else asks: companions, places and batch sizes do not show."""

import dataclasses
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from pcevolve_server.diffusion.numerics import IMAGES, Steady, is_small
from pcevolve_server.errors import AbandonedError, ModelLoadError
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


def test_a_prompt_and_a_prototype_are_encoded_once(monkeypatch):
    generator = load(model="bundled", device="cpu")
    encoder, autoencoder = generator.text_to_image.text_encoder, generator.text_to_image.vae
    prompts, images = [], []
    monkeypatch.setattr(encoder, "forward", counting(prompts, encoder.forward))
    monkeypatch.setattr(autoencoder.encoder, "forward", counting(images, autoencoder.encoder.forward))
    one = task(0, strength=0.6)
    generate(generator, [dataclasses.replace(one, seed=seed, image=picture(0)) for seed in range(9)])
    generate(generator, [dataclasses.replace(one, seed=9)])
    assert (len(prompts), len(images)) == (2, 1)  # both texts and the image once for all requests


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


def test_a_large_or_another_kind_of_model_is_left_as_it_is(monkeypatch):
    assert not is_small(torch.nn.Linear(2, 2))
    unet = load(model="bundled", device="cpu", batching=Batching.MERGE).text_to_image.unet
    assert is_small(unet)
    monkeypatch.setattr("pcevolve_server.diffusion.numerics._MOST_WEIGHTS", 1_000_000)
    assert not is_small(unet)
    assert load(model="bundled", device="cpu").companions == 1


def test_the_usual_shape_is_compiled_before_the_model_is_ready_and_no_other(tiny_model, monkeypatch):
    shapes = []
    monkeypatch.setattr(torch, "compile", lambda forward, dynamic: noting(shapes, forward))
    generator = load(model=str(tiny_model), compiled=True)
    assert set(shapes) == {(2 * IMAGES, 4, 8, 8)}
    shapes.clear()
    size = dataclasses.asdict(RECIPE) | generator.info.base_resolution.model_dump()
    generate(generator, [dataclasses.replace(task(1), recipe=Recipe(**size | {"scheduler": "ddim"}))])
    assert len(shapes) == RECIPE.steps
    generate(generator, [task(1, width=40, height=40), task(2, width=40, height=40)])
    generate(generator, [dataclasses.replace(task(1), recipe=Recipe(**size | {"guidance": 1.0}))])
    assert len(shapes) == RECIPE.steps


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler, which torch.compile needs")
def test_what_is_compiled_computes_the_same_up_to_rounding():
    def forward(sample, timestep, return_dict):
        return (torch.sin(sample) * timestep,)

    plain, compiled = Steady(forward), Steady(forward)
    compiled.compile(2, 2, 4, guided=True)
    sample = torch.rand(IMAGES, 4, 2, 2)
    (expected,) = plain(sample, torch.tensor(3), return_dict=False)
    (found,) = compiled(sample, torch.tensor(3), return_dict=False)
    assert torch.allclose(found, expected)


def noting(shapes, forward):
    def noted(sample, *positional, **named):
        shapes.append(tuple(sample.shape))
        return forward(sample, *positional, **named)

    return noted


@pytest.mark.parametrize("why", [{"batching": Batching.MERGE}, {"model": "large"}])
def test_what_cannot_be_compiled_is_refused(why, tiny_model, monkeypatch):
    if why == {"model": "large"}:
        monkeypatch.setattr("pcevolve_server.diffusion.numerics._MOST_WEIGHTS", 1)
        why = {}
    with pytest.raises(ModelLoadError, match="--compile is for small models"):
        load(model=str(tiny_model), compiled=True, **why)


def test_a_denoiser_of_one_size_answers_as_the_one_behind_it():
    sizes = []

    def forward(sample, timestep, *, return_dict, named):
        sizes.append(len(sample))
        return (sample * named["scale"][0] + timestep,)

    wrapped = Steady(forward)
    sample, scale = torch.rand(70, 4, 2, 2), torch.rand(70, 1, 1, 1)
    (found,) = wrapped(sample, torch.tensor(3), return_dict=False, named={"scale": [scale]})
    assert torch.equal(found, sample * scale + 3)
    assert torch.equal(wrapped(sample, torch.tensor(3), named={"scale": [scale]}).sample, found)
    assert sizes == [2 * IMAGES] * 6
